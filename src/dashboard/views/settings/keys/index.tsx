import { useState } from 'preact/hooks';
import type { ApiKey } from '../../../../client/admin.ts';
import type { OwnKeyListQuery } from '../../../../client/tenants/keys.ts';
import { DEFAULT_LIMIT } from '../../../../contract/list-query.ts';
import { paybell } from '../../../api.ts';
import { ActionButton } from '../../../components/action-button.tsx';
import { Icon } from '../../../components/icon.tsx';
import { Pager } from '../../../components/lists/pager.tsx';
import { PastTheEnd } from '../../../components/lists/past-the-end.tsx';
import { Curl } from '../../../components/values/copy.tsx';
import { Failure, Loading } from '../../../components/view/states.tsx';
import { useRoute } from '../../../router.tsx';
import { useResponse } from '../../../use-response.ts';
import { CreateKeyDialog } from './create-dialog.tsx';
import { isInForce } from './key-state.tsx';
import { RevokeDialog } from './revoke-dialog.tsx';
import { KeyTable } from './table.tsx';

const PAGING = ['page', 'limit', 'sortBy', 'sortDir'];

/** The API keys of the entity. */
export function ApiKeys() {
  const { query } = useRoute();
  const [creating, setCreating] = useState(false);
  const [revoking, setRevoking] = useState<ApiKey | null>(null);
  const page = Number(query.get('page') ?? 1);
  const limit = Number(query.get('limit') ?? DEFAULT_LIMIT);
  // Passed on as text, unchecked: the server reports what is wrong with it.
  const parameters = Object.fromEntries([...query].filter(([name]) => PAGING.includes(name)));
  const { data, problem, loading, reload } = useResponse(JSON.stringify(parameters), (signal) =>
    paybell().keys.list(parameters as OwnKeyListQuery, { signal }),
  );
  const { data: caller } = useResponse('caller', (signal) => paybell().entity({ signal }));
  return (
    <div class="stack">
      <div class="settings-head">
        <p class="muted">Give each program and each person a key of its own, with no more permissions than it needs.</p>
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
      {data === null && problem !== null ? <Failure problem={problem} reload={reload} /> : null}
      {data === null && problem === null ? <Loading what="API keys" /> : null}
      {data === null ? null : data.keys.length > 0 ? (
        <KeyTable keys={data.keys} ownId={caller?.keyId ?? null} busy={loading} query={query} onRevoke={setRevoking} />
      ) : (
        <PastTheEnd total={data.totalResults} limit={limit} />
      )}
      {data === null || data.totalResults <= limit ? null : (
        <Pager total={data.totalResults} page={page} limit={limit} shown={data.keys.length} what="keys" />
      )}
      <details>
        <summary>Equivalent API requests</summary>
        <Curl path="/keys" />
        <Curl method="POST" path="/keys" body={{ name: 'Support desk', permissions: ['deliveries:read'] }} />
      </details>
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

/** As the server decides it: without this key, none is left or none that can create another. */
function isLast(target: ApiKey, keys: readonly ApiKey[]): boolean {
  const manages = ({ permissions }: ApiKey) => permissions.includes('keys:write');
  const others = keys.filter((key) => key.keyId !== target.keyId && isInForce(key));
  return others.length === 0 || (manages(target) && !others.some(manages));
}
