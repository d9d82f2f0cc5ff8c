import { useState } from 'preact/hooks';
import { type ApiProblem, asProblem, inputError, paybell } from '../../api.ts';
import { ActionButton } from '../../components/action-button.tsx';
import { Field } from '../../components/field.tsx';
import { showToast } from '../../components/toasts.tsx';
import { Badge } from '../../components/values/badge.tsx';
import { Curl } from '../../components/values/copy.tsx';
import { Failure, Loading, ProblemAlert } from '../../components/view/states.tsx';
import { useResponse } from '../../use-response.ts';

/** Where Paybell says that an endpoint fails, has recovered, or is not sent to any more. */
export function AlertUrl() {
  const { data, problem, reload } = useResponse('alert-url', (signal) => paybell().webhooks.noticeUrl({ signal }));
  if (data === null)
    return problem === null ? <Loading what="alert URL" /> : <Failure problem={problem} reload={reload} />;
  return (
    <div class="stack settings-narrow">
      <section class="card settings-card">
        <div class="settings-head">
          <h2>Alert URL</h2>
          {data.noticeUrl === null ? (
            <Badge tone="warning" icon="alert">
              Off
            </Badge>
          ) : (
            <Badge tone="good" icon="check">
              On
            </Badge>
          )}
        </div>
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
        <UrlForm key={data.noticeUrl} current={data.noticeUrl} reload={reload} />
      </section>
      <details>
        <summary>Equivalent API requests</summary>
        <Curl path="/webhooks/notice-url" />
        <Curl
          method="PUT"
          path="/webhooks/notice-url"
          body={{ noticeUrl: 'https://example.com/hooks/paybell-alerts' }}
        />
      </details>
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
      <Field
        label="URL"
        error={error}
        hint="Use another host than those of your endpoints, so that an outage does not stop its own alert."
      >
        {(control) => (
          <input
            {...control}
            type="text"
            inputmode="url"
            class="mono"
            placeholder="https://example.com/hooks/paybell-alerts"
            value={url}
            onInput={(event) => setUrl(event.currentTarget.value)}
          />
        )}
      </Field>
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
