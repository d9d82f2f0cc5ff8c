import type { EndpointWebhook } from '../../../../client/endpoints.ts';
import { DEFAULT_LIMIT } from '../../../../contract/list-query.ts';
import { type ApiProblem, asProblem, ownProblem, paybell } from '../../../api.ts';
import { ActionButton } from '../../../components/action-button.tsx';
import { Icon } from '../../../components/icon.tsx';
import { Pager } from '../../../components/lists/pager.tsx';
import { showToast } from '../../../components/toasts.tsx';
import { Badge } from '../../../components/values/badge.tsx';
import { Network } from '../../../components/values/network.tsx';
import { Moment } from '../../../components/values/time.tsx';
import { Loading, ProblemAlert } from '../../../components/view/states.tsx';
import { DASHBOARD_PATHS } from '../../../paths.ts';
import { Link, urlFor, useRoute } from '../../../router.tsx';
import { useResponse } from '../../../use-response.ts';

const number = new Intl.NumberFormat();

/** `said` is the problem that the page says already. */
type WebhooksProps = { endpointId: string; round: number; said: ApiProblem | null; reload: () => Promise<void> };

/** The webhooks that have the URL, with their state. */
export function EndpointWebhooks({ endpointId, round, said, reload }: WebhooksProps) {
  const { query } = useRoute();
  const page = Number(query.get('page') ?? 1);
  const limit = Number(query.get('limit') ?? DEFAULT_LIMIT);
  const { data, problem } = useResponse(
    `${endpointId} ${page} ${limit}`,
    (signal) => paybell().endpoints.webhooks(endpointId, { page, limit }, { signal }),
    round,
  );
  const own = ownProblem(problem, said);
  return (
    <section class="endpoint-section" aria-labelledby="webhooks-heading">
      <h2 id="webhooks-heading">Webhooks</h2>
      {data === null && problem === null ? <Loading what="webhooks" /> : null}
      {own === null ? null : <ProblemAlert problem={own} />}
      {data === null ? null : (
        <div class="table-frame">
          <table class="table">
            <caption class="visually-hidden">Webhooks of the endpoint</caption>
            <thead>
              <tr>
                <th scope="col">Event</th>
                <th scope="col">Network</th>
                <th scope="col">State</th>
                <th scope="col" class="not-phone">
                  Waiting
                </th>
              </tr>
            </thead>
            <tbody>
              {data.webhooks.map((webhook) => (
                <Row key={webhook.webhookId} webhook={webhook} reload={reload} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {data === null || data.totalResults <= Math.min(limit, DEFAULT_LIMIT) ? null : (
        <Pager total={data.totalResults} page={page} limit={limit} shown={data.webhooks.length} what="webhooks" />
      )}
    </section>
  );
}

const REASONS = { gone: 'it responded with 410 Gone', failing: 'all attempts failed for 5 days' } as const;

function Row({ webhook, reload }: { webhook: EndpointWebhook; reload: () => Promise<void> }) {
  const { webhookId, event, networkId, state, reason, waiting, dateFailingSince } = webhook;
  return (
    <tr>
      <td>
        <Link to={urlFor(DASHBOARD_PATHS.webhooks, { webhookId })}>{event}</Link>
      </td>
      <td>
        <Network networkId={networkId} />
      </td>
      <td>
        <div class="endpoint-state">
          {state === 'suspended' ? (
            <>
              <Badge tone="warning" icon="pause">
                Suspended
              </Badge>
              <span class="small muted">{REASONS[reason ?? 'failing']}</span>
              <ActionButton
                needs="webhooks:write"
                class="button button-small"
                label={`Resume ${event} on network ${networkId}`}
                onClick={() => void resume(webhookId, reload)}
              >
                <Icon name="play" size={12} />
                Resume
              </ActionButton>
            </>
          ) : dateFailingSince === null ? (
            <Badge tone="good" icon="check">
              Active
            </Badge>
          ) : (
            <>
              <Badge tone="bad" icon="alert">
                Failing
              </Badge>
              <span class="small muted">
                since <Moment seconds={dateFailingSince} />
              </span>
            </>
          )}
        </div>
      </td>
      <td class="not-phone number">{number.format(waiting)}</td>
    </tr>
  );
}

async function resume(webhookId: string, reload: () => Promise<void>): Promise<void> {
  try {
    await paybell().webhooks.resume(webhookId);
    showToast({ tone: 'good', text: 'Webhook resumed. Held deliveries are being sent.' });
    await reload();
  } catch (error) {
    showToast({ tone: 'bad', text: `Webhook not resumed. ${asProblem(error).detail}` });
  }
}
