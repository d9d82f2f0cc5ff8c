import { useState } from 'preact/hooks';
import { type ApiProblem, asProblem, inputError, paybell } from '../../api.ts';
import { ActionButton } from '../../components/action-button.tsx';
import { TextField } from '../../components/inputs.tsx';
import { showToast } from '../../components/toasts.tsx';
import { Badge } from '../../components/values/badge.tsx';
import { ApiRequests } from '../../components/view/api-requests.tsx';
import { Loaded } from '../../components/view/loaded.tsx';
import { Section } from '../../components/view/section.tsx';
import { ProblemAlert } from '../../components/view/states.tsx';
import { useResponse } from '../../use-response.ts';

/** The URL that gets an alert when an endpoint fails or has recovered, or a webhook is suspended. */
export function AlertUrl() {
  const response = useResponse('alert-url', (signal) => paybell().webhooks.noticeUrl({ signal }));
  return (
    <Loaded response={response} what="alert URL">
      {({ noticeUrl }) => <AlertCard noticeUrl={noticeUrl} reload={response.reload} />}
    </Loaded>
  );
}

const ON = { tone: 'good', icon: 'check', label: 'On' } as const;
const OFF = { tone: 'warning', icon: 'alert', label: 'Off' } as const;

type CardProps = { noticeUrl: string | null; reload: () => Promise<void> };

function AlertCard({ noticeUrl, reload }: CardProps) {
  const path = '/webhooks/notice-url';
  return (
    <div class="stack settings-narrow">
      <Section title="Alert URL" isCard actions={<Badge {...(noticeUrl === null ? OFF : ON)} />}>
        <p class="muted">Paybell sends an alert to this URL, signed and retried like any other request:</p>
        <ul class="alert-kinds">
          <li>
            <code>endpoint.failing</code> when all attempts to a URL have failed for an hour, and then every day
          </li>
          <li>
            <code>endpoint.recovered</code> when an attempt succeeds again
          </li>
          <li>
            <code>webhook.suspended</code> when Paybell stops sending to a webhook
          </li>
        </ul>
        <UrlForm key={noticeUrl} current={noticeUrl} reload={reload} />
      </Section>
      <ApiRequests
        commands={[{ path }, { method: 'PUT', path, body: { noticeUrl: 'https://example.com/hooks/paybell-alerts' } }]}
      />
    </div>
  );
}

function UrlForm({ current, reload }: { current: string | null; reload: () => Promise<void> }) {
  const [url, setUrl] = useState(current ?? '');
  const [problem, setProblem] = useState<ApiProblem | null>(null);
  const error = inputError(problem, 'noticeUrl');
  const save = async (noticeUrl: string | null) => {
    setProblem(null);
    try {
      await paybell().webhooks.setNoticeUrl(noticeUrl);
      showToast({ tone: 'good', text: noticeUrl === null ? 'Alerts are off' : `Alerts are sent to ${noticeUrl}` });
      await reload();
    } catch (failure) {
      setProblem(asProblem(failure));
    }
  };
  return (
    <>
      {problem !== null && error === null ? <ProblemAlert problem={problem} /> : null}
      <TextField
        label="URL"
        error={error}
        hint="Use a host that has no endpoint, so that an outage does not stop its own alert."
        inputmode="url"
        class="mono"
        placeholder="https://example.com/hooks/paybell-alerts"
        value={url}
        onInput={(event) => setUrl(event.currentTarget.value)}
      />
      <div class="actions">
        <ActionButton
          needs="webhooks:write"
          class="button button-primary"
          disabled={url.trim() === '' || url === current}
          onClick={() => void save(url.trim())}
        >
          {current === null ? 'Turn on alerts' : 'Save'}
        </ActionButton>
        {current === null ? null : (
          <ActionButton needs="webhooks:write" class="button button-danger" onClick={() => void save(null)}>
            Turn off alerts
          </ActionButton>
        )}
      </div>
    </>
  );
}
