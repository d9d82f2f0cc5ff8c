import { useState } from 'preact/hooks';
import type { Endpoint } from '../../../../client/endpoints.ts';
import { paybell } from '../../../api.ts';
import { ActionButton } from '../../../components/action-button.tsx';
import { Icon } from '../../../components/icon.tsx';
import { PartProblem } from '../../../components/view/loaded.tsx';
import { Section } from '../../../components/view/section.tsx';
import { DASHBOARD_PATHS } from '../../../paths.ts';
import { Link } from '../../../router.tsx';
import { useResponse } from '../../../use-response.ts';
import { Lifetime } from '../../secrets/lifetime.tsx';
import { endpointSecret, RotateDialog } from '../../secrets/rotate-dialog.tsx';

/** The secrets that sign its requests: its own, or the entity's. Their texts stay on the server. */
export function EndpointSecret({ endpoint, reload }: { endpoint: Endpoint; reload: () => Promise<void> }) {
  const { endpointId, secret } = endpoint;
  const [rotating, setRotating] = useState(false);
  const own = useResponse(`${endpointId} ${secret}`, async (signal) => {
    const { secrets } = await paybell().endpoints.secrets(endpointId, { signal });
    return secrets.map(({ secretId, dateCreated, dateExpires }) => ({ id: secretId, dateCreated, dateExpires }));
  });
  const { data, problem } = own;
  return (
    <Section
      title="Signing secret"
      isCard
      actions={
        secret === 'own' ? (
          <ActionButton needs="secrets:write" class="button button-small" onClick={() => setRotating(true)}>
            <Icon name="retry" size={12} />
            Rotate secret
          </ActionButton>
        ) : null
      }
    >
      {secret === 'own' ? (
        <p class="small">This endpoint has its own signing secret.</p>
      ) : (
        <p class="small">
          Requests to this endpoint are signed with the <Link to={DASHBOARD_PATHS.secrets}>secrets of the entity</Link>.
          Its settings can give it its own secret.
        </p>
      )}
      <PartProblem problem={problem} what="Secrets" />
      {(data ?? []).map((lifetime) => (
        <Lifetime key={lifetime.id} {...lifetime} only={data?.length === 1} />
      ))}
      {rotating ? (
        <RotateDialog
          rotation={endpointSecret(endpointId)}
          onRotated={() => void Promise.all([own.reload(), reload()])}
          onClose={() => setRotating(false)}
        />
      ) : null}
    </Section>
  );
}
