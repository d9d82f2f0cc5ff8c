import { useState } from 'preact/hooks';
import type { ApiKey } from '../../../../client/admin.ts';
import type { OwnKeyListQuery } from '../../../../client/tenants/keys.ts';
import { paybell } from '../../../api.ts';
import { ActionButton } from '../../../components/action-button.tsx';
import { Icon } from '../../../components/icon.tsx';
import { DataTable } from '../../../components/lists/data-table.tsx';
import { List } from '../../../components/lists/list.tsx';
import { useListState } from '../../../components/lists/use-list.ts';
import { ApiRequests } from '../../../components/view/api-requests.tsx';
import { useResponse } from '../../../use-response.ts';
import { columnsOf } from './columns.tsx';
import { CreateKeyDialog } from './create-dialog.tsx';
import { isInForce } from './key-state.tsx';
import { RevokeDialog } from './revoke-dialog.tsx';

/** The API keys of the entity. */
export function ApiKeys() {
  const list = useListState([]);
  const [creating, setCreating] = useState(false);
  const [revoking, setRevoking] = useState<ApiKey | null>(null);
  const response = useResponse(JSON.stringify(list.parameters), (signal) =>
    paybell().keys.list(list.parameters as OwnKeyListQuery, { signal }),
  );
  const { data, reload } = response;
  const { data: caller } = useResponse('caller', (signal) => paybell().entity({ signal }));
  return (
    <div class="stack">
      <div class="settings-head">
        <p class="muted">Give each program and each person a separate key, with no more permissions than it needs.</p>
        <ActionButton
          needs="keys:write"
          class="button button-primary"
          disabled={caller === null}
          onClick={() => setCreating(true)}
        >
          <Icon name="plus" />
          Create key
        </ActionButton>
      </div>
      <List what="keys" state={list} response={response} rowsOf={({ keys }) => keys} none={null} isShort>
        {(keys, busy) => (
          <DataTable
            name="keys"
            caption="API keys"
            columns={columnsOf(caller?.keyId ?? null, setRevoking)}
            rows={keys}
            keyOf={({ keyId }) => keyId}
            rowClass={(apiKey) => (isInForce(apiKey) ? '' : 'key-ended')}
            {...{ busy, list }}
          />
        )}
      </List>
      <ApiRequests
        commands={[
          { path: '/keys' },
          { method: 'POST', path: '/keys', body: { name: 'Support desk', permissions: ['deliveries:read'] } },
        ]}
      />
      {creating && caller !== null ? (
        <CreateKeyDialog caller={caller} onCreated={reload} onClose={() => setCreating(false)} />
      ) : null}
      {revoking === null ? null : (
        <RevokeDialog
          apiKey={revoking}
          isOwn={revoking.keyId === caller?.keyId}
          isLastKnown={data !== null && data.totalResults <= data.keys.length && isLast(revoking, data.keys)}
          onRevoked={reload}
          onClose={() => setRevoking(null)}
        />
      )}
    </div>
  );
}

/** Whether no other key is left, or no other key that can create keys. The server uses the same rule. */
function isLast(target: ApiKey, keys: readonly ApiKey[]): boolean {
  const manages = ({ permissions }: ApiKey) => permissions.includes('keys:write');
  const others = keys.filter((key) => key.keyId !== target.keyId && isInForce(key));
  return others.length === 0 || (manages(target) && !others.some(manages));
}
