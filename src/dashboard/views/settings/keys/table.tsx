import type { ApiKey } from '../../../../client/admin.ts';
import { PERMISSIONS } from '../../../../domain/keys/api-keys.ts';
import { ActionButton } from '../../../components/action-button.tsx';
import { SortHead } from '../../../components/lists/sort-head.tsx';
import { Badge } from '../../../components/values/badge.tsx';
import { Time } from '../../../components/values/time.tsx';
import { isInForce, KeyState } from './key-state.tsx';

type TableProps = {
  keys: readonly ApiKey[];
  /** The key of this session. */
  ownId: string | null;
  busy: boolean;
  query: URLSearchParams;
  onRevoke: (apiKey: ApiKey) => void;
};

export function KeyTable({ keys, ownId, busy, query, onRevoke }: TableProps) {
  return (
    <div class="table-frame">
      <table class="table keys" aria-busy={busy}>
        <caption class="visually-hidden">API keys</caption>
        <thead>
          <tr>
            <SortHead field="name" label="Name" firstDir="asc" query={query} />
            <th scope="col" class="not-phone">
              Permissions
            </th>
            <th scope="col" class="column-key-state">
              State
            </th>
            <th scope="col" class="column-key-date not-phone">
              Last used
            </th>
            <SortHead
              field="dateCreated"
              label="Created"
              firstDir="desc"
              query={query}
              class="column-key-date column-key-created not-phone"
            />
            <th scope="col" class="column-key-action">
              <span class="visually-hidden">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {keys.map((apiKey) => (
            <KeyRow key={apiKey.keyId} apiKey={apiKey} isOwn={apiKey.keyId === ownId} revoke={() => onRevoke(apiKey)} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function KeyRow({ apiKey, isOwn, revoke }: { apiKey: ApiKey; isOwn: boolean; revoke: () => void }) {
  const { keyId, name, prefix, lastFour, permissions, dateLastUsed, dateCreated } = apiKey;
  return (
    <tr class={isInForce(apiKey) ? '' : 'key-ended'}>
      <td>
        <div class="key-name">
          <strong>{name}</strong>
          {isOwn ? (
            <Badge tone="info" icon="lock">
              This session
            </Badge>
          ) : null}
        </div>
        <code class="small muted" title={keyId}>
          {prefix}…{lastFour}
        </code>
        <div class="only-phone small">
          <PermissionList permissions={permissions} />
        </div>
      </td>
      <td class="not-phone">
        <PermissionList permissions={permissions} />
      </td>
      <td>
        <KeyState apiKey={apiKey} />
      </td>
      <td class="not-phone">
        {dateLastUsed === null ? (
          <span class="muted">{isOwn ? 'In use' : 'Never'}</span>
        ) : (
          <Time seconds={dateLastUsed} />
        )}
      </td>
      <td class="column-key-created not-phone">
        <Time seconds={dateCreated} />
      </td>
      <td>
        {isInForce(apiKey) ? (
          <ActionButton
            needs="keys:write"
            class="button button-small button-danger"
            label={`Revoke ${name}`}
            onClick={revoke}
          >
            Revoke
          </ActionButton>
        ) : null}
      </td>
    </tr>
  );
}

function PermissionList({ permissions }: { permissions: ApiKey['permissions'] }) {
  if (PERMISSIONS.every((permission) => permissions.includes(permission))) return <>All permissions</>;
  return <code class="small key-permissions">{permissions.join(', ')}</code>;
}
