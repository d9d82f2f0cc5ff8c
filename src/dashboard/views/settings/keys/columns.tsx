import type { ApiKey } from '../../../../client/admin.ts';
import { PERMISSIONS } from '../../../../domain/keys/api-keys.ts';
import { ActionButton } from '../../../components/action-button.tsx';
import { type Column, createdColumn } from '../../../components/lists/data-table.tsx';
import { Badge } from '../../../components/values/badge.tsx';
import { Time } from '../../../components/values/time.tsx';
import { isInForce, KeyState } from './key-state.tsx';

/** `ownId` is the key of this session. */
export function columnsOf(ownId: string | null, onRevoke: (apiKey: ApiKey) => void): readonly Column<ApiKey>[] {
  return [
    {
      name: 'name',
      header: 'Name',
      sort: 'asc',
      width: 'rest',
      cell: ({ keyId, name, prefix, lastFour }) => (
        <>
          <div class="key-name">
            <strong>{name}</strong>
            {keyId === ownId ? <Badge tone="info" icon="lock" label="This session" /> : null}
          </div>
          <code class="small muted" title={keyId}>
            {prefix}…{lastFour}
          </code>
        </>
      ),
    },
    {
      name: 'permissions',
      header: 'Permissions',
      width: '15rem',
      narrow: { below: 'wide', line: 'cell' },
      cell: ({ permissions }) => <PermissionList permissions={permissions} />,
    },
    {
      name: 'state',
      header: 'State',
      width: '9.5rem',
      narrowWidth: '6.5rem',
      cell: (apiKey) => <KeyState apiKey={apiKey} />,
    },
    {
      name: 'dateLastUsed',
      header: 'Last used',
      width: '8rem',
      narrow: { below: 'medium' },
      cell: ({ keyId, dateLastUsed }) =>
        dateLastUsed === null ? (
          <span class="muted">{keyId === ownId ? 'In use' : 'Never'}</span>
        ) : (
          <Time seconds={dateLastUsed} />
        ),
    },
    createdColumn('Created', { sort: 'desc', width: '8rem', narrow: { below: 'wide' } }),
    {
      name: 'actions',
      header: 'Actions',
      isHeaderHidden: true,
      width: '6.5rem',
      narrowWidth: '5.75rem',
      cell: (apiKey) =>
        isInForce(apiKey) ? (
          <ActionButton
            needs="keys:write"
            class="button button-small button-danger"
            label={`Revoke ${apiKey.name}`}
            onClick={() => onRevoke(apiKey)}
          >
            Revoke
          </ActionButton>
        ) : null,
    },
  ];
}

function PermissionList({ permissions }: { permissions: ApiKey['permissions'] }) {
  if (PERMISSIONS.every((permission) => permissions.includes(permission))) return <>All permissions</>;
  return <code class="small key-permissions">{permissions.join(', ')}</code>;
}
