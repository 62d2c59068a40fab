import {
  CreatedAccount,
  formLimits,
  type OperatorAccount,
  OperatorAccountList,
  Overview,
  type Runner,
} from '@gen3d/schema/dashboard';
import { limits } from '@gen3d/schema/rules';
import { newIdempotencyKey } from '@gen3d/sdk';
import { useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { parseResponse } from '../api.js';
import { Bundles } from '../components/bundles.js';
import { Button } from '../components/buttons.js';
import { Problem, Success, useAction } from '../components/feedback.js';
import { actionsColumn, type Column, Table, Tile } from '../components/table.js';
import { dateTime, fileSize, relativeTime, usd } from '../format.js';
import { NotFoundPage, useTitle } from '../layout.js';
import { usePolling } from '../polling.js';
import { useSession } from '../session.js';

const columns: readonly Column[] = [{ name: 'Account' }, { name: 'Created' }, { name: 'Open jobs', right: true }];
const balanceColumn: Column = { name: 'Balance', right: true };

/** Builds the query of another page of the same search. */
function pageOf(query: string, cursor?: string): string {
  const parameters = new URLSearchParams(query);
  if (cursor === undefined) parameters.delete('cursor');
  else parameters.set('cursor', cursor);
  return String(parameters);
}

export function OperatorPage() {
  useTitle('Operator');
  const { role, api, charges, chooseAccount, refresh } = useSession();
  const { route } = useLocation();
  const [overview, setOverview] = useState<Overview>();
  const [accounts, setAccounts] = useState<OperatorAccount[]>([]);
  /** The search and the cursor of the shown page of accounts. */
  const [query, setQuery] = useState('');
  const [nextCursor, setNextCursor] = useState<string>();
  const { problem, success, actionCount, run } = useAction();
  const [creditedAccount, setCreditedAccount] = useState<OperatorAccount>();
  /** Renewed whenever the form opens, so that sending the form twice credits once. */
  const [creditKey, setCreditKey] = useState('');
  const [createdAccount, setCreatedAccount] = useState<CreatedAccount>();
  const dialog = useRef<HTMLDialogElement>(null);

  const loadProblem = usePolling(async () => {
    if (role !== 'operator') return false;
    const [newOverview, list] = await Promise.all([
      api.get('/operator/overview', Overview),
      api.get(`/operator/accounts?${query}`, OperatorAccountList),
    ]);
    setOverview(newOverview);
    setAccounts(list.accounts);
    setNextCursor(list.next_cursor);
    return newOverview.oldest_open_at !== null;
  }, `${query} ${actionCount}`);

  const change = (request: () => Promise<unknown>, message: string) =>
    run(async () => {
      setCreatedAccount(undefined);
      await request();
      await refresh();
    }, message);

  const open = async (accountId: string, page: string) => {
    await chooseAccount(accountId);
    route(page);
  };

  if (role !== 'operator') return <NotFoundPage />;
  if (!overview) return <Problem text={loadProblem} />;
  // Without rates, balances matter only where one is too low to create jobs.
  const isLow = ({ sandbox, balance_usd }: OperatorAccount) => !sandbox && balance_usd < limits.minBalanceUsd;
  const showsBalances = charges || accounts.some(isLow);
  return (
    <>
      <h1>Operator</h1>
      <Problem text={problem ?? loadProblem} />
      <Tiles overview={overview} />
      <section>
        <h2>Accounts</h2>
        <input
          type="search"
          aria-label="Search accounts by name or id"
          placeholder="Search"
          maxLength={formLimits.nameLength}
          onInput={(event) => {
            const search = event.currentTarget.value.trim();
            setQuery(String(new URLSearchParams(search === '' ? {} : { search })));
          }}
        />
        <Table columns={[...columns, ...(showsBalances ? [balanceColumn] : []), actionsColumn]}>
          {accounts.map((account) => (
            <tr key={account.account_id}>
              <td>
                <strong>{account.name}</strong>
                <br />
                {account.sandbox ? (
                  <span class="hint">
                    Of the public test key: jobs of anyone who tries the API, with a sample model
                  </span>
                ) : (
                  <code class="hint">{account.account_id}</code>
                )}
              </td>
              <td data-label="Created">{dateTime(account.created_at)}</td>
              <td class="right number" data-label="Open jobs">
                {account.open_jobs}
              </td>
              {showsBalances && (
                <td class={isLow(account) ? 'right number low' : 'right number'} data-label="Balance">
                  {usd(account.balance_usd)}
                </td>
              )}
              <td class="right">
                <div class="row end">
                  {showsBalances && !account.sandbox && (
                    <Button
                      label="Credit"
                      class="small"
                      aria-label={`Credit ${account.name}`}
                      onClick={() => {
                        setCreditedAccount(account);
                        setCreditKey(newIdempotencyKey());
                        dialog.current?.showModal();
                      }}
                    />
                  )}
                  <Button
                    label="Open"
                    class="small"
                    aria-label={`Open ${account.name}`}
                    onClick={() => open(account.account_id, '/')}
                  />
                </div>
              </td>
            </tr>
          ))}
        </Table>
        <p class="row center">
          {query.includes('cursor=') && <Button label="First page" onClick={() => setQuery(pageOf(query))} />}
          {nextCursor !== undefined && <Button label="Next page" onClick={() => setQuery(pageOf(query, nextCursor))} />}
        </p>
        <form
          class="panel row bottom"
          onSubmit={(event) => {
            event.preventDefault();
            const form = event.currentTarget;
            const data = new FormData(form);
            const balance = data.get('balance');
            const body = {
              name: String(data.get('name')),
              ...(balance !== null && { balance_usd: Number(balance) }),
            };
            void change(async () => {
              setCreatedAccount(parseResponse(CreatedAccount, await api.send('POST', '/operator/accounts', body)));
              form.reset();
            }, `Account “${body.name}” created.`);
          }}
        >
          <label>
            New account
            <input name="name" required maxLength={formLimits.nameLength} placeholder="Name" />
          </label>
          {charges && (
            <label>
              Balance in USD
              <input name="balance" type="number" min={0} step="any" defaultValue={10} required />
            </label>
          )}
          <Button type="submit" label="Create account" class="primary" />
        </form>
        <Success text={success} />
        {createdAccount && (
          <Button
            label={`Create a key for ${createdAccount.name}`}
            onClick={() => open(createdAccount.account_id, '/dashboard/keys')}
          />
        )}
      </section>
      <section>
        <h2>Runners</h2>
        <Runners runners={overview.runners} serverVersion={overview.version} />
      </section>
      <Bundles />
      <dialog ref={dialog} aria-labelledby="credit-title">
        <form
          onSubmit={(event) => {
            event.preventDefault();
            dialog.current?.close();
            const amount = Number(new FormData(event.currentTarget).get('usd'));
            if (!creditedAccount) return;
            const { account_id, name } = creditedAccount;
            void change(
              () =>
                api.send('POST', `/operator/accounts/${account_id}/credit`, {
                  usd: amount,
                  idempotency_key: creditKey,
                }),
              `Credited “${name}” with ${usd(amount)}.`,
            );
          }}
        >
          <h2 id="credit-title">Credit {creditedAccount?.name}</h2>
          <label>
            Amount in USD (negative to deduct)
            <input name="usd" type="number" step="any" required />
          </label>
          <div class="row end">
            <Button label="Cancel" onClick={() => dialog.current?.close()} />
            <Button type="submit" label="Credit" class="primary" />
          </div>
        </form>
      </dialog>
    </>
  );
}

/** Shows the state of the service in five tiles. `/metrics` has all figures. */
function Tiles({ overview }: { overview: Overview }) {
  const { PENDING = 0, QUEUED = 0, IN_PROGRESS = 0, SUCCEEDED = 0, FAILED = 0 } = overview.jobs;
  return (
    <div class="tiles">
      <Tile label="Open jobs" value={PENDING + QUEUED + IN_PROGRESS}>
        {overview.oldest_open_at ? `oldest created ${relativeTime(overview.oldest_open_at)}` : 'none waiting'}
      </Tile>
      <Tile label="Last 24 hours" value={SUCCEEDED === 1 ? '1 model' : `${SUCCEEDED} models`}>
        {FAILED} failed
      </Tile>
      <Tile label="Runners" value={overview.runners.length}>
        {runnersSummary(overview.runners)}
      </Tile>
      <Tile label="Undelivered webhook events" value={overview.events.waiting}>
        {overview.events.dead} dead letters
      </Tile>
      <Tile label="This server" value={`gen3d ${overview.version}`}>
        {fileSize(overview.free_disk_bytes)} of disk free
      </Tile>
    </div>
  );
}

const runnerColumns: readonly Column[] = [
  { name: 'Machine' },
  { name: 'Device' },
  { name: 'Bundle' },
  { name: 'gen3d' },
  { name: 'Job' },
  { name: 'Heartbeat' },
];

/** Sums the runners up, for example `1 busy, on gpu-1 and gpu-2`. */
function runnersSummary(runners: readonly Runner[]): string {
  if (runners.length === 0) return 'jobs are not processed';
  const hosts = [...new Set(runners.map(({ host }) => host))];
  const location = hosts.length > 3 ? `on ${hosts.length} machines` : `on ${hosts.join(' and ')}`;
  return `${runners.filter(({ task_id }) => task_id !== null).length} busy, ${location}`;
}

/** Lists the runners of all machines. Points out those whose version is not the server's. */
function Runners({ runners, serverVersion }: { runners: readonly Runner[]; serverVersion: string }) {
  if (runners.length === 0) {
    return (
      <p>
        No runner is active on any machine, so jobs wait. One may still be starting. Otherwise, start a worker with{' '}
        <code>gen3d worker</code>, or the server with <code>--workers 1</code>.
      </p>
    );
  }
  return (
    <Table columns={runnerColumns}>
      {runners.map((runner) => (
        <tr key={runner.runner_id}>
          <td class="full-row">
            <strong>{runner.host}</strong>
            <br />
            <span class="hint">since {dateTime(runner.started_at)}</span>
          </td>
          <td data-label="Device">
            {runner.device}
            {runner.instance !== runner.device && ` (instance ${runner.instance})`}
            {runner.adapter && <span class="hint"> {runner.adapter}</span>}
          </td>
          <td data-label="Bundle">{runner.bundle}</td>
          <td data-label="gen3d">
            {runner.version}
            {runner.version !== serverVersion && <span class="hint"> (this server: {serverVersion})</span>}
          </td>
          <td data-label="Job">{runner.task_id ? <code>{runner.task_id}</code> : 'none'}</td>
          <td data-label="Heartbeat">{relativeTime(runner.heartbeat_at)}</td>
        </tr>
      ))}
    </Table>
  );
}
