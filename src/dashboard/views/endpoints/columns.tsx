import type { Endpoint } from '../../../client/endpoints.ts';
import { ActionButton } from '../../components/action-button.tsx';
import { Icon } from '../../components/icon.tsx';
import { type Column, numberColumn } from '../../components/lists/data-table.tsx';
import { CopyButton } from '../../components/values/copy.tsx';
import { countOf, countText } from '../../components/values/count-text.ts';
import { durationText } from '../../components/values/duration-text.ts';
import { UrlText } from '../../components/values/url.tsx';
import { endpointPath } from '../../paths.ts';
import { Link } from '../../router.tsx';
import { destinationOf } from './latency.ts';
import { setPaused } from './pausing.ts';
import { EndpointState } from './state-badge.tsx';

const WRITE = 'webhooks:write';

type ColumnContext = {
  latency: ReadonlyMap<string, number>;
  onEdit: (endpoint: Endpoint) => void;
  reload: () => Promise<void>;
};

export function columnsOf({ latency, onEdit, reload }: ColumnContext): readonly Column<Endpoint>[] {
  return [
    {
      name: 'postUrl',
      header: 'Endpoint URL',
      sort: 'asc',
      width: 'rest',
      cell: (endpoint) => <EndpointName endpoint={endpoint} />,
    },
    {
      name: 'state',
      header: 'State',
      width: '13rem',
      narrow: { below: 'medium', line: 'cell' },
      cell: (endpoint) => <EndpointState endpoint={endpoint} />,
    },
    numberColumn('waiting', 'Waiting', ({ waiting }) => countText(waiting), {
      ...{ sort: 'desc', below: 'medium' },
      line: ({ waiting, lastSequence }) => (
        <p class="small number">
          {countText(waiting)} waiting · last sequence {countText(lastSequence)}
        </p>
      ),
    }),
    numberColumn('latency', 'Latency p95', ({ postUrl }) => latencyText(latency.get(destinationOf(postUrl))), {
      ...{ below: 'wide', title: '95 % of deliveries to its host were faster, in the last 24 hours' },
    }),
    numberColumn('lastSequence', 'Last sequence', ({ lastSequence }) => countText(lastSequence), {
      ...{ sort: 'desc', below: 'medium' },
    }),
    {
      name: 'actions',
      header: 'Actions',
      isHeaderHidden: true,
      width: '9rem',
      narrowWidth: '6.75rem',
      cell: (endpoint) => (
        <Actions endpoint={endpoint} onEdit={() => onEdit(endpoint)} onPause={() => void setPaused(endpoint, reload)} />
      ),
    },
  ];
}

function latencyText(ms: number | undefined): string {
  return ms === undefined ? '–' : durationText(ms);
}

function EndpointName({ endpoint }: { endpoint: Endpoint }) {
  const { endpointId, postUrl, name } = endpoint;
  return (
    <>
      <Link to={endpointPath(endpointId)} class="endpoint-link">
        {name === null ? null : <div class="endpoint-name cut">{name}</div>}
        <div class="cut">
          <UrlText url={postUrl} />
        </div>
      </Link>
      <Settings endpoint={endpoint} />
      <div class="webhook-id">
        <code class="muted">{endpointId}</code>
        <CopyButton text={endpointId} label={`Copy the ID of ${name ?? postUrl}`} compact />
      </div>
    </>
  );
}

/** The number of webhooks with the URL, and the settings that differ from the defaults. */
function Settings({ endpoint }: { endpoint: Endpoint }) {
  const { webhooks, ordering, rateLimit, headerNames, clientCertificate, secret } = endpoint;
  const settings = [
    countOf(webhooks, 'webhook'),
    ordering === 'agreement' ? 'ordered by agreement' : null,
    rateLimit === null ? null : `${countText(rateLimit)} requests/s`,
    headerNames.length === 0 ? null : countOf(headerNames.length, 'header'),
    clientCertificate === null ? null : 'client certificate',
    secret === 'own' ? 'own secret' : null,
  ];
  return <p class="small muted">{settings.filter((text) => text !== null).join(' · ')}</p>;
}

type ActionsProps = { endpoint: Endpoint; onEdit: () => void; onPause: () => void };

function Actions({ endpoint, onEdit, onPause }: ActionsProps) {
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
