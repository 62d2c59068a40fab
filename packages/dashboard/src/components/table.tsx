import type { ComponentChildren } from 'preact';
import { Button } from './buttons.js';

export interface Column {
  name: string;
  /** Aligns the column to the right, as numbers and buttons are. */
  right?: boolean;
  /** Visible to screen readers only. */
  hidden?: boolean;
}

/** Last column of a table whose rows have buttons. */
export const actionsColumn: Column = { name: 'Actions', right: true, hidden: true };

/** Shows its children as rows. On a phone each row is a block, and each of its cells is labeled by its `data-label`. */
export function Table({ columns, children }: { columns: readonly Column[]; children: ComponentChildren }) {
  return (
    <div class="table">
      <table>
        <thead>
          <tr>
            {columns.map(({ name, right, hidden }) => (
              <th key={name} scope="col" class={right ? 'right' : undefined}>
                {hidden ? <span class="hidden">{name}</span> : name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

/** Loads the next page of the table above it. */
export function ShowMore({ onClick }: { onClick: () => void }) {
  return (
    <p class="row center">
      <Button label="Show more" onClick={onClick} />
    </p>
  );
}

/** Shows one figure, and may explain it. */
export function Tile(props: { label: string; value: ComponentChildren; low?: boolean; children?: ComponentChildren }) {
  const { label, value, low, children } = props;
  return (
    <div class="tile">
      <span class="label">{label}</span>
      <strong class={low ? 'low' : ''}>{value}</strong>
      {children && <span class="hint">{children}</span>}
    </div>
  );
}
