import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { ApiKey } from '../api.js';
import { ConfirmButton } from '../parts/confirm-button.js';
import { CopyButton } from '../parts/copy-button.js';
import { Problem } from '../parts/problem.js';
import { Snippets } from '../parts/snippets.js';
import { actions, type Column, Table } from '../parts/table.js';
import { useSession } from '../session.js';
import { useTitle } from '../title.js';
import { ago, when } from '../words.js';

const columns: readonly Column[] = [
  { name: 'Key' },
  { name: 'Created' },
  { name: 'Last used' },
  { name: 'State' },
  actions,
];

interface MadeKey {
  key_id: string;
  name: string;
  api_key: string;
}

export function KeysPage() {
  useTitle('API keys');
  const { call, keyId, account } = useSession();
  const [keys, setKeys] = useState<ApiKey[]>();
  const [made, setMade] = useState<MadeKey>();
  const [problem, setProblem] = useState<string>();
  const shown = useRef<HTMLDivElement>(null);

  const attempt = useCallback(async (act: () => Promise<unknown>) => {
    try {
      await act();
      setProblem(undefined);
    } catch (error) {
      setProblem((error as Error).message);
    }
  }, []);
  const load = useCallback(async () => setKeys((await call<{ keys: ApiKey[] }>('GET', '/keys')).keys), [call]);
  useEffect(() => void attempt(load), [attempt, load]);
  useEffect(() => made && shown.current?.focus(), [made]);

  if (account.sandbox) return <p class="empty">The sandbox has one key, the public test key, and it is everybody’s.</p>;
  return (
    <>
      <h1>API keys</h1>
      <form
        class="panel row bottom"
        onSubmit={(event) => {
          event.preventDefault();
          const form = event.currentTarget;
          void attempt(async () => {
            setMade(await call('POST', '/keys', { name: String(new FormData(form).get('name')) }));
            form.reset();
            await load();
          });
        }}
      >
        <label>
          What the new key is for
          <input name="name" required maxLength={100} placeholder="Web shop" autocomplete="off" />
        </label>
        <button type="submit" class="primary">
          Create key
        </button>
      </form>
      <Problem text={problem} />
      {made && (
        <section class="panel made" aria-label="The new key" tabIndex={-1} ref={shown}>
          <p>
            <strong>The key “{made.name}” is shown only now.</strong> Copy it to where it will be used.
          </p>
          <div class="row">
            <code class="secret" data-testid="new-key">
              {made.api_key}
            </code>
            <CopyButton text={made.api_key} what="the key" />
            <button type="button" class="small quiet" onClick={() => setMade(undefined)}>
              Done
            </button>
          </div>
        </section>
      )}
      {keys && (
        <Table columns={columns}>
          {keys.map(({ key_id, name, created_at, last_used_at, revoked_at }) => (
            <tr key={key_id} class={revoked_at ? 'past' : ''} data-key={key_id}>
              <td>
                <strong class="name">{name ?? 'Without a name'}</strong>
                <br />
                <code class="hint">{key_id}</code>
                {key_id === keyId && <span class="hint"> · you are signed in with it</span>}
              </td>
              <td data-label="Created">{when(created_at)}</td>
              <td data-label="Last used">{last_used_at ? ago(last_used_at) : 'Never'}</td>
              <td>{revoked_at ? `Revoked ${when(revoked_at)}` : 'Works'}</td>
              <td class="right">
                {!revoked_at && (
                  <ConfirmButton
                    small
                    label="Revoke"
                    ariaLabel={`Revoke the key ${name ?? key_id}`}
                    question={`Revoke the key “${name ?? key_id}”?`}
                    consequence={
                      key_id === keyId
                        ? 'Programs that use it are refused from now on, and you are signed out.'
                        : 'Programs that use it are refused from now on. It cannot be brought back.'
                    }
                    onConfirm={() =>
                      void attempt(async () => {
                        await call('DELETE', `/keys/${key_id}`);
                        if (made?.key_id === key_id) setMade(undefined);
                        await load();
                      })
                    }
                  />
                )}
              </td>
            </tr>
          ))}
        </Table>
      )}
      <section>
        <h2>Use it</h2>
        <Snippets
          label="Language"
          snippets={[
            { name: 'curl', code: `curl ${location.origin}/v1/balance -H "Authorization: Bearer $GEN3D_API_KEY"` },
            {
              name: 'SDK',
              code: `import { Gen3d } from '@gen3d/sdk';

const gen3d = new Gen3d({ apiKey: process.env.GEN3D_API_KEY, baseUrl: '${location.origin}' });
const task = await gen3d.generate('photo.jpg');
console.log(task.model_urls?.glb);`,
            },
            {
              name: 'CLI',
              code: `export GEN3D_BASE_URL=${location.origin}
gen3d login                        # asks for the key
gen3d create photo.jpg --wait`,
            },
          ]}
        />
      </section>
    </>
  );
}
