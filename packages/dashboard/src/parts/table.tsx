import type { ComponentChildren } from 'preact';

export interface Column {
  name: string;
  /** To the right: numbers, and what can be done. */
  right?: boolean;
  /** Said to a screen reader only. */
  unseen?: boolean;
}

/** What can be done with a row, at its end. */
export const actions: Column = { name: 'Actions', right: true, unseen: true };

/** The children are rows. On a phone each is a block of its own, whose cells say what they are by `data-label`. */
export function Table({ columns, children }: { columns: readonly Column[]; children: ComponentChildren }) {
  return (
    <div class="table">
      <table>
        <thead>
          <tr>
            {columns.map(({ name, right, unseen }) => (
              <th key={name} scope="col" class={right ? 'right' : undefined}>
                {unseen ? <span class="hidden">{name}</span> : name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
