import { useState } from 'preact/hooks';
import type { EndpointDetail } from '../../../../client/endpoints.ts';
import { isPermanent, paybell } from '../../../api.ts';
import { ActionButton } from '../../../components/action-button.tsx';
import { Icon } from '../../../components/icon.tsx';
import { countOf } from '../../../components/values/count-text.ts';
import { CopiedId } from '../../../components/values/facts.tsx';
import { LiveSwitch } from '../../../components/view/live-switch.tsx';
import { Loaded } from '../../../components/view/loaded.tsx';
import { BackLink, ViewHead } from '../../../components/view/view-head.tsx';
import { live, usePolling } from '../../../live.ts';
import { useObservable } from '../../../observable.ts';
import { DASHBOARD_PATHS } from '../../../paths.ts';
import { useRoute } from '../../../router.tsx';
import { useResponse } from '../../../use-response.ts';
import { BulkResendProgress } from '../../deliveries/bulk-resend/progress.tsx';
import { setPaused } from '../pausing.ts';
import { SettingsDialog } from '../settings-dialog.tsx';
import { EndpointState } from '../state-badge.tsx';
import { EndpointDeliveries } from './deliveries.tsx';
import { EndpointSecret } from './secret.tsx';
import { EndpointSettings } from './settings.tsx';
import { EndpointCharts, EndpointTiles } from './tiles.tsx';
import { EndpointWebhooks } from './webhooks.tsx';

const POLL_MS = 5_000;

/** One endpoint: its state, its deliveries, its webhooks and its settings. */
export function EndpointView({ endpointId }: { endpointId: string }) {
  const redelivery = useRoute().query.get('redelivery') || null;
  const response = useResponse(endpointId, (signal) => paybell().endpoints.get(endpointId, { signal }));
  const { data, problem, reload } = response;
  const on = useObservable(live);
  // Counts the polls, so that the sections below load again with each of them.
  const [round, setRound] = useState(0);
  const counts = useResponse(endpointId, (signal) => paybell().deliveries.counts({ endpointId }, { signal }), round);
  const refresh = async () => {
    setRound((before) => before + 1);
    await reload();
  };
  usePolling(on && !isPermanent(problem), POLL_MS, async () => {
    await refresh();
    return true;
  });
  return (
    <>
      <BackLink to={DASHBOARD_PATHS.endpoints} text="All endpoints" />
      <Head endpoint={data} reload={refresh} />
      <Loaded response={response} what="endpoint">
        {(endpoint) => (
          <>
            {redelivery === null ? null : <BulkResendProgress redeliveryId={redelivery} />}
            <Condition endpoint={endpoint} />
            <EndpointTiles endpoint={endpoint} counts={counts} />
            <div class="endpoint-columns">
              <div class="stack">
                <EndpointDeliveries endpointId={endpointId} counts={counts.data} round={round} said={problem} />
                <EndpointCharts endpoint={endpoint} round={round} />
                <EndpointWebhooks endpointId={endpointId} round={round} said={problem} reload={refresh} />
              </div>
              <div class="stack">
                <EndpointSettings endpoint={endpoint} />
                <EndpointSecret endpoint={endpoint} reload={refresh} />
              </div>
            </div>
          </>
        )}
      </Loaded>
    </>
  );
}

function Head({ endpoint, reload }: { endpoint: EndpointDetail | null; reload: () => Promise<void> }) {
  const [editing, setEditing] = useState(false);
  if (endpoint === null) return <ViewHead title="Endpoint" />;
  const { name, postUrl, paused } = endpoint;
  return (
    <>
      <ViewHead title={name ?? postUrl} {...(name !== null && { description: postUrl })}>
        <LiveSwitch />
        <ActionButton needs="webhooks:write" onClick={() => void setPaused(endpoint, reload)}>
          <Icon name={paused ? 'play' : 'pause'} size={12} />
          {paused ? 'Resume' : 'Pause'}
        </ActionButton>
        <ActionButton needs="webhooks:write" onClick={() => setEditing(true)}>
          <Icon name="edit" size={14} />
          Edit settings
        </ActionButton>
      </ViewHead>
      {editing ? <SettingsDialog endpoint={endpoint} onSaved={reload} onClose={() => setEditing(false)} /> : null}
    </>
  );
}

const CONSEQUENCES = {
  active: null,
  failing: null,
  paused: 'Its deliveries are held until you resume it.',
  suspended: 'The deliveries of its suspended webhooks are held until you resume these webhooks.',
} as const;

function Condition({ endpoint }: { endpoint: EndpointDetail }) {
  const { endpointId, state, oldestStuck } = endpoint;
  return (
    <div class="endpoint-condition">
      <EndpointState endpoint={endpoint} />
      {CONSEQUENCES[state] === null ? null : <span class="small muted">{CONSEQUENCES[state]}</span>}
      {oldestStuck === null ? null : (
        <span class="small">
          {countOf(oldestStuck.waiting, 'delivery waits', 'deliveries wait')} behind the first of agreement{' '}
          <code>{oldestStuck.agreementId}</code>.
        </span>
      )}
      <span class="small muted">
        <CopiedId id={endpointId} what="the ID of the endpoint" />
      </span>
    </div>
  );
}
