import type { Endpoint } from '../../../client/endpoints.ts';
import { ActionButton } from '../../components/action-button.tsx';
import { Icon } from '../../components/icon.tsx';
import { CopyButton } from '../../components/values/copy.tsx';
import { durationText } from '../../components/values/duration-text.ts';
import { UrlText } from '../../components/values/url.tsx';
import { endpointPath } from '../../paths.ts';
import { Link } from '../../router.tsx';
import { EndpointState, isFailing } from './state-badge.tsx';

const WRITE = 'webhooks:write';
const number = new Intl.NumberFormat();

type RowProps = { endpoint: Endpoint; latencyMs: number | null; onEdit: () => void; onPause: () => void };

export function EndpointRow({ endpoint, latencyMs, onEdit, onPause }: RowProps) {
  const { endpointId, postUrl, name, waiting, lastSequence } = endpoint;
  return (
    <tr class={`endpoint-${isFailing(endpoint) ? 'failing' : endpoint.state}`}>
      <td>
        <Link to={endpointPath(endpointId)} class="endpoint-link">
          {name === null ? null : <div class="endpoint-name cut">{name}</div>}
          <div class="cut">
            <UrlText url={postUrl} />
          </div>
        </Link>
        <Settings endpoint={endpoint} />
        <div class="only-phone">
          <EndpointState endpoint={endpoint} />
          <p class="small number">
            {number.format(waiting)} waiting · last number {number.format(lastSequence)}
          </p>
        </div>
        <div class="webhook-id">
          <code class="muted">{endpointId}</code>
          <CopyButton text={endpointId} label={`Copy the ID of ${name ?? postUrl}`} compact />
        </div>
      </td>
      <td class="not-phone">
        <EndpointState endpoint={endpoint} />
      </td>
      <td class="not-phone amount number">{number.format(waiting)}</td>
      <td class="not-phone amount number">{latencyMs === null ? '–' : durationText(latencyMs)}</td>
      <td class="not-phone amount number">{number.format(lastSequence)}</td>
      <td class="row-actions">
        <Actions endpoint={endpoint} onEdit={onEdit} onPause={onPause} />
      </td>
    </tr>
  );
}

/** What differs from the defaults, and how many webhooks have the URL. */
function Settings({ endpoint }: { endpoint: Endpoint }) {
  const { webhooks, ordering, rateLimit, headerNames, clientCertificate, secret } = endpoint;
  const settings = [
    `${number.format(webhooks)} ${webhooks === 1 ? 'webhook' : 'webhooks'}`,
    ordering === 'agreement' ? 'ordered by agreement' : null,
    rateLimit === null ? null : `${number.format(rateLimit)} requests/s`,
    headerNames.length === 0 ? null : `${headerNames.length} ${headerNames.length === 1 ? 'header' : 'headers'}`,
    clientCertificate === null ? null : 'client certificate',
    secret === 'own' ? 'own secret' : null,
  ];
  return <p class="small muted">{settings.filter((text) => text !== null).join(' · ')}</p>;
}

function Actions({ endpoint, onEdit, onPause }: Omit<RowProps, 'latencyMs'>) {
  const { paused } = endpoint;
  const called = endpoint.name ?? endpoint.postUrl;
  const verb = paused ? 'Resume' : 'Pause';
  return (
    <div class="row-buttons">
      <ActionButton needs={WRITE} class="button button-small" label={`${verb} ${called}`} onClick={onPause}>
        <Icon name={paused ? 'play' : 'pause'} size={12} />
        <span class="not-phone">{verb}</span>
      </ActionButton>
      <ActionButton
        needs={WRITE}
        class="button button-icon"
        title="Edit settings"
        label={`Edit settings of ${called}`}
        onClick={onEdit}
      >
        <Icon name="edit" />
      </ActionButton>
    </div>
  );
}
