import type { Endpoint } from '../../../../client/endpoints.ts';
import { Curl } from '../../../components/values/copy.tsx';
import { Time } from '../../../components/values/time.tsx';

const number = new Intl.NumberFormat();

/** What the endpoint was given. The values of headers are never returned. */
export function EndpointSettings({ endpoint }: { endpoint: Endpoint }) {
  const { endpointId, ordering, rateLimit, headerNames, clientCertificate, webhooks, dateCreated } = endpoint;
  return (
    <section class="card endpoint-card" aria-labelledby="settings-heading">
      <h2 id="settings-heading">Settings</h2>
      <dl class="facts">
        <dt>Ordering</dt>
        <dd>
          {ordering === 'agreement' ? 'By agreement: one event after another' : 'None: each event is sent at once'}
        </dd>
        <dt>Rate limit</dt>
        <dd>{rateLimit === null ? 'None' : `${number.format(rateLimit)} requests per second`}</dd>
        <dt>Headers</dt>
        <dd>
          {headerNames.length === 0
            ? 'None'
            : headerNames.map((name) => (
                <div key={name}>
                  <code>{name}</code> <span class="muted">value hidden</span>
                </div>
              ))}
        </dd>
        <dt>Client certificate</dt>
        <dd>{clientCertificate === null ? 'None' : <Certificate {...clientCertificate} />}</dd>
        <dt>Webhooks</dt>
        <dd class="number">{number.format(webhooks)}</dd>
        <dt>Created</dt>
        <dd>
          <Time seconds={dateCreated} />
        </dd>
      </dl>
      <details>
        <summary>Equivalent API requests</summary>
        <Curl path={`/endpoints/${endpointId}`} />
        <Curl method="PATCH" path={`/endpoints/${endpointId}`} body={{ paused: true }} />
      </details>
    </section>
  );
}

/** Set with the API or the command line, so that a private key passes through no browser. */
function Certificate({ subject, fingerprint, dateExpires }: NonNullable<Endpoint['clientCertificate']>) {
  const hasExpired = dateExpires * 1000 <= Date.now();
  return (
    <>
      <div>{subject}</div>
      <div class={hasExpired ? 'error-text' : 'muted'}>
        {hasExpired ? 'Has expired: ' : 'Expires '}
        <Time seconds={dateExpires} />
      </div>
      <code class="small certificate-fingerprint">{fingerprint}</code>
    </>
  );
}
