import type { Endpoint } from '../../../../client/endpoints.ts';
import { countOf, countText } from '../../../components/values/count-text.ts';
import { Facts } from '../../../components/values/facts.tsx';
import { Time } from '../../../components/values/time.tsx';
import { ApiRequests } from '../../../components/view/api-requests.tsx';
import { Section } from '../../../components/view/section.tsx';

/** The settings of the endpoint. The server never returns the values of headers. */
export function EndpointSettings({ endpoint }: { endpoint: Endpoint }) {
  const { endpointId, ordering, rateLimit, headerNames, clientCertificate, webhooks, dateCreated } = endpoint;
  const path = `/endpoints/${endpointId}`;
  const headers = headerNames.map((name) => (
    <div key={name}>
      <code>{name}</code> <span class="muted">value hidden</span>
    </div>
  ));
  return (
    <Section title="Settings" isCard>
      <Facts
        of={{
          Ordering:
            ordering === 'agreement' ? 'By agreement: one event after another' : 'None: each event is sent at once',
          'Rate limit': rateLimit === null ? 'None' : `${countOf(rateLimit, 'request')} per second`,
          Headers: headers.length === 0 ? 'None' : headers,
          'Client certificate': clientCertificate === null ? 'None' : <Certificate {...clientCertificate} />,
          Webhooks: countText(webhooks),
          Created: <Time seconds={dateCreated} />,
        }}
      />
      <ApiRequests commands={[{ path }, { method: 'PATCH', path, body: { paused: true } }]} />
    </Section>
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
