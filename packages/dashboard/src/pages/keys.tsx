import { type ApiKey, CreatedKey, formLimits, KeyList } from '@gen3d/schema/dashboard';
import { useEffect, useRef, useState } from 'preact/hooks';
import { parseResponse } from '../api.js';
import { Button, ConfirmButton, CopyButton } from '../components/buttons.js';
import { Problem, Success, useAction } from '../components/feedback.js';
import { actionsColumn, type Column, Table } from '../components/table.js';
import { dateTime, relativeTime } from '../format.js';
import { useTitle } from '../layout.js';
import { usePolling } from '../polling.js';
import { useSession } from '../session.js';

const columns: readonly Column[] = [
  { name: 'Key' },
  { name: 'Created' },
  { name: 'Last used' },
  { name: 'State' },
  actionsColumn,
];

export function KeysPage() {
  useTitle('API keys');
  const { api, keyId, account } = useSession();
  const [keys, setKeys] = useState<ApiKey[]>();
  const [createdKey, setCreatedKey] = useState<CreatedKey>();
  const { problem, success, actionCount, run } = useAction();
  const createdSection = useRef<HTMLDivElement>(null);

  const loadProblem = usePolling(async () => {
    setKeys((await api.get('/keys', KeyList)).keys);
    return false;
  }, `${account.account_id} ${actionCount}`);
  useEffect(() => createdKey && createdSection.current?.focus(), [createdKey]);

  if (account.sandbox)
    return <p class="empty">The sandbox has a single key, the public test key, which everyone can use.</p>;
  return (
    <>
      <h1>API keys</h1>
      <form
        class="panel row bottom"
        onSubmit={(event) => {
          event.preventDefault();
          const form = event.currentTarget;
          const name = String(new FormData(form).get('name'));
          void run(async () => {
            setCreatedKey(parseResponse(CreatedKey, await api.send('POST', '/keys', { name })));
            form.reset();
          });
        }}
      >
        <label>
          Name of the new key
          <input name="name" required maxLength={formLimits.nameLength} placeholder="Web shop" autocomplete="off" />
        </label>
        <Button type="submit" label="Create key" class="primary" />
      </form>
      <Problem text={problem ?? loadProblem} />
      <Success text={success} />
      {createdKey && (
        <section class="panel created-key" aria-label="New key" tabIndex={-1} ref={createdSection}>
          <p>
            <strong>Copy the key “{createdKey.name}” now.</strong> It is not shown again.
          </p>
          <div class="row">
            <code class="secret" data-testid="new-key">
              {createdKey.api_key}
            </code>
            <CopyButton text={createdKey.api_key} name="the key" />
            <Button label="Done" class="small quiet" onClick={() => setCreatedKey(undefined)} />
          </div>
        </section>
      )}
      {keys && (
        <Table columns={columns}>
          {keys.map(({ key_id, name, ending, created_at, last_used_at, revoked_at }) => (
            <tr key={key_id} class={revoked_at ? 'revoked' : ''} data-key={key_id}>
              <td>
                <strong class="name">{name ?? 'Unnamed'}</strong>
                <br />
                <code class="hint">gen3d_…{ending}</code>
                {key_id === keyId && <span class="hint"> · you signed in with this key</span>}
              </td>
              <td data-label="Created">{dateTime(created_at)}</td>
              <td data-label="Last used">{last_used_at ? relativeTime(last_used_at) : 'Never'}</td>
              <td>{revoked_at ? `Revoked ${dateTime(revoked_at)}` : 'Active'}</td>
              <td class="right">
                {!revoked_at && (
                  <ConfirmButton
                    small
                    label="Revoke"
                    ariaLabel={`Revoke the key ${name ?? key_id}`}
                    question={`Revoke the key “${name ?? key_id}”?`}
                    consequence={
                      key_id === keyId
                        ? 'Requests with this key will be refused, and you will be signed out.'
                        : 'Requests with this key will be refused. You cannot undo this.'
                    }
                    onConfirm={() =>
                      void run(
                        async () => {
                          await api.send('DELETE', `/keys/${key_id}`);
                          if (createdKey?.key_id === key_id) setCreatedKey(undefined);
                        },
                        `The key “${name ?? key_id}” was revoked.`,
                      )
                    }
                  />
                )}
              </td>
            </tr>
          ))}
        </Table>
      )}
      <section>
        <h2>Use a key</h2>
        <p>
          <a href="/docs" target="_top">
            HTTP API
          </a>
          ,{' '}
          <a href="/docs/sdk" target="_top">
            SDK
          </a>{' '}
          and{' '}
          <a href="/docs/cli" target="_top">
            command line
          </a>
          , with examples for this server
        </p>
      </section>
    </>
  );
}
