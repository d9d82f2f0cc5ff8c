import { useState } from 'preact/hooks';
import { paybell } from '../../api.ts';
import { ActionButton } from '../../components/action-button.tsx';
import { Icon } from '../../components/icon.tsx';
import { Curl } from '../../components/values/copy.tsx';
import { Failure, Loading } from '../../components/view/states.tsx';
import { ViewHead } from '../../components/view/view-head.tsx';
import { useResponse } from '../../use-response.ts';
import { PublicKeys } from './public-keys.tsx';
import { ENTITY_KEY, ENTITY_SECRET, RotateDialog, type Rotation } from './rotate-dialog.tsx';
import { SecretCards, withoutSecretText } from './secret-list.tsx';
import { SignatureVerifier } from './verifier.tsx';

/** The signing secrets and keys, their rotation, and a tool that explains why a signature does not verify. */
export function Secrets() {
  const [rotating, setRotating] = useState<Rotation | null>(null);
  const { data, problem, reload } = useResponse('secrets', async (signal) =>
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
        {data === null && problem !== null ? <Failure problem={problem} reload={reload} /> : null}
        {data === null && problem === null ? <Loading what="secrets" /> : null}
        {data === null ? null : <SecretCards secrets={data.secrets} />}
        {data === null ? null : <PublicKeys {...data} onRotate={() => setRotating(ENTITY_KEY)} />}
        <SignatureVerifier />
        <details>
          <summary>Equivalent API requests</summary>
          <Curl path="/webhooks/secret" />
          <Curl method="POST" path="/webhooks/secret/rotate" body={{ overlapHours: 24 }} />
          <Curl method="POST" path="/webhooks/signing-key/rotate" body={{ overlapHours: 24 }} />
        </details>
      </div>
      {rotating === null ? null : (
        <RotateDialog rotation={rotating} onRotated={() => void reload()} onClose={() => setRotating(null)} />
      )}
    </>
  );
}
