import type { AuditEntry } from '../../../../client/audit.ts';
import { SortHead } from '../../../components/lists/sort-head.tsx';
import { DateTime } from '../../../components/values/time.tsx';
import { DASHBOARD_PATHS, endpointPath } from '../../../paths.ts';
import { changeQuery, Link, urlFor } from '../../../router.tsx';
import { type Change, type ChangedValue, changesOf } from './changes.ts';
import type { KeyNames } from './use-key-names.ts';
import { actionText, actorText } from './words.ts';

type TableProps = { entries: readonly AuditEntry[]; names: KeyNames; busy: boolean; query: URLSearchParams };

export function AuditTable({ entries, names, busy, query }: TableProps) {
  return (
    <div class="table-frame">
      <table class="table audit" aria-busy={busy}>
        <caption class="visually-hidden">Audit log</caption>
        <thead>
          <tr>
            <SortHead field="dateCreated" label="When" firstDir="desc" query={query} class="column-when" />
            <th scope="col">Change</th>
            <th scope="col" class="column-actor not-phone">
              Made by
            </th>
          </tr>
        </thead>
        <tbody>
          {entries.map((entry) => (
            <tr key={entry.auditId}>
              <td class="column-when">
                <DateTime seconds={entry.dateCreated} />
              </td>
              <td>
                <strong>{actionText(entry.action)}</strong> <Target id={entry.target} names={names} />
                <div class="only-phone small">
                  by <Actor actor={entry.actor} names={names} />
                </div>
                <Changes changes={changesOf(entry)} />
              </td>
              <td class="column-actor not-phone">
                <Actor actor={entry.actor} names={names} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Leads to the object where it has a view. A key has a name beside its ID. */
function Target({ id, names }: { id: string; names: KeyNames }) {
  const to = id.startsWith('wh_')
    ? urlFor(DASHBOARD_PATHS.webhooks, { webhookId: id })
    : id.startsWith('ep_')
      ? endpointPath(id)
      : null;
  return (
    <>
      {names.get(id)} <code class="small audit-id">{to === null ? id : <Link to={to}>{id}</Link>}</code>
    </>
  );
}

/** Filters by the key that made the change. */
function Actor({ actor, names }: { actor: string; names: KeyNames }) {
  const words = actorText(actor);
  if (words !== null) return <>{words}</>;
  return (
    <>
      {names.get(actor)}{' '}
      <button
        type="button"
        class="audit-actor small mono"
        title="Show only changes by this key"
        onClick={() => changeQuery({ actor, page: null })}
      >
        {actor}
      </button>
    </>
  );
}

/** More fields than these are collapsed. */
const MAX_SHOWN = 3;

function Changes({ changes }: { changes: readonly Change[] }) {
  if (changes.length === 0) return null;
  if (changes.length <= MAX_SHOWN) return <ChangeList changes={changes} />;
  return (
    <details>
      <summary>{changes.length} fields</summary>
      <ChangeList changes={changes} />
    </details>
  );
}

function ChangeList({ changes }: { changes: readonly Change[] }) {
  return (
    <dl class="audit-changes small">
      {changes.map(({ field, before, after }) => (
        <div key={field}>
          <dt>{field}</dt>
          <dd>
            {before === null ? null : (
              <del>
                <Value value={before} />
              </del>
            )}
            {before === null || after === null ? null : ' → '}
            {after === null ? null : (
              <ins>
                <Value value={after} />
              </ins>
            )}
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Value({ value }: { value: ChangedValue }) {
  return typeof value === 'string' ? value : <DateTime seconds={value.seconds} />;
}
