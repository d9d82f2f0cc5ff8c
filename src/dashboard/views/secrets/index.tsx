import { useState } from 'preact/hooks';
import { paybell } from '../../api.ts';
import { ActionButton } from '../../components/action-button.tsx';
import { Icon } from '../../components/icon.tsx';
import { onDemand } from '../../components/on-demand.tsx';
import { ApiRequests } from '../../components/view/api-requests.tsx';
import { Loaded } from '../../components/view/loaded.tsx';
import { ViewHead } from '../../components/view/view-head.tsx';
import { useResponse } from '../../use-response.ts';
import { PublicKeys } from './public-keys.tsx';
import { ENTITY_KEY, ENTITY_SECRET, RotateDialog, type Rotation } from './rotate-dialog.tsx';
import { SecretCards, withoutSecretText } from './secret-list.tsx';

const SignatureVerifier = onDemand(
  'signature verifier',
  async () => (await import('./verifier.tsx')).SignatureVerifier,
);

/** The signing secrets and keys, their rotation, and a tool that explains why a signature does not verify. */
export function Secrets() {
  const [rotating, setRotating] = useState<Rotation | null>(null);
  const response = useResponse('secrets', async (signal) =>
    withoutSecretText(await paybell().secrets.list({ signal })),
  );
  return (
    <>
      <ViewHead
        title="Secrets"
        description="Every request is signed with each active secret, so that receivers can verify it."
      >
        <ActionButton needs="secrets:write" onClick={() => setRotating(ENTITY_SECRET)}>
          <Icon name="retry" size={14} />
          Rotate secret
        </ActionButton>
      </ViewHead>
      <div class="stack">
        <Loaded response={response} what="secrets">
          {(list) => (
            <>
              <SecretCards secrets={list.secrets} />
              <PublicKeys {...list} onRotate={() => setRotating(ENTITY_KEY)} />
            </>
          )}
        </Loaded>
        <SignatureVerifier />
        <ApiRequests
          commands={[
            { path: '/webhooks/secret' },
            { method: 'POST', path: '/webhooks/secret/rotate', body: { overlapHours: 24 } },
            { method: 'POST', path: '/webhooks/signing-key/rotate', body: { overlapHours: 24 } },
          ]}
        />
      </div>
      {rotating === null ? null : (
        <RotateDialog rotation={rotating} onRotated={() => void response.reload()} onClose={() => setRotating(null)} />
      )}
    </>
  );
}
