import type { AuditEntry } from '../../../../client/audit.ts';
import type { Column } from '../../../components/lists/data-table.tsx';
import { DateTime } from '../../../components/values/time.tsx';
import { DASHBOARD_PATHS, endpointPath } from '../../../paths.ts';
import { changeQuery, Link, urlFor } from '../../../router.tsx';
import { type Change, type ChangedValue, changesOf } from './changes.ts';
import type { KeyNames } from './use-key-names.ts';
import { actionText, actorText } from './words.ts';

export function columnsOf(names: KeyNames): readonly Column<AuditEntry>[] {
  return [
    {
      name: 'dateCreated',
      header: 'When',
      sort: 'desc',
      width: '11rem',
      narrowWidth: '6.5rem',
      cell: ({ dateCreated }) => <DateTime seconds={dateCreated} />,
    },
    {
      name: 'change',
      header: 'Change',
      width: 'rest',
      cell: (entry) => (
        <>
          <strong>{actionText(entry.action)}</strong> <Target id={entry.target} names={names} />
          <Changes changes={changesOf(entry)} />
        </>
      ),
    },
    {
      name: 'actor',
      header: 'Made by',
      width: '20rem',
      narrow: {
        below: 'medium',
        line: ({ actor }) => (
          <div class="small">
            by <Actor actor={actor} names={names} />
          </div>
        ),
      },
      cell: ({ actor }) => <Actor actor={actor} names={names} />,
    },
  ];
}

/** Links to the view of the object, if it has one. A key also has a name. */
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
