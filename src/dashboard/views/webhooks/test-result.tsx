import { useRef, useState } from 'preact/hooks';
import type { TestAnswer, Webhook } from '../../../client/webhooks.ts';
import { attemptErrorText } from '../../../contract/attempt-error-text.ts';
import { type ApiProblem, asProblem, paybell } from '../../api.ts';
import { Icon } from '../../components/icon.tsx';
import { Badge } from '../../components/values/badge.tsx';
import { durationText } from '../../components/values/duration-text.ts';

type TestState =
  | { readonly state: 'sending' }
  | { readonly state: 'sent'; readonly result: TestAnswer }
  | { readonly state: 'rejected'; readonly problem: ApiProblem };

/** The test events sent from this view, by webhook. */
export function useTests() {
  const [tests, setTests] = useState<ReadonlyMap<string, TestState>>(new Map());
  const current = useRef(tests);
  const put = (webhookId: string, test: TestState | null) => {
    const next = new Map(current.current);
    if (test === null) next.delete(webhookId);
    else next.set(webhookId, test);
    current.current = next;
    setTests(next);
  };
  const send = async (webhookId: string) => {
    put(webhookId, { state: 'sending' });
    try {
      put(webhookId, { state: 'sent', result: await paybell().webhooks.sendTest(webhookId) });
    } catch (error) {
      put(webhookId, { state: 'rejected', problem: asProblem(error) });
    }
  };
  const sendTest = ({ webhookId }: Webhook) => void send(webhookId);
  return { tests, sendTest, dismiss: (webhookId: string) => put(webhookId, null) };
}

/** The result of a test event, below its webhook. */
export function TestResult({ test, onDismiss }: { test: TestState; onDismiss: () => void }) {
  return (
    <div class="test-summary" role="status">
      {test.state === 'sending' ? (
        <Badge tone="info" icon="clock" label="Sending test event…" />
      ) : test.state === 'rejected' ? (
        <>
          <Badge tone="bad" icon="cross" label="Not sent" />
          <span>{test.problem.detail}</span>
        </>
      ) : (
        <SentResult result={test.result} />
      )}
      <button type="button" class="button button-icon" aria-label="Dismiss test result" onClick={onDismiss}>
        <Icon name="cross" size={14} />
      </button>
    </div>
  );
}

function SentResult({ result: { delivered, statusCode, error, durationMs, response } }: { result: TestAnswer }) {
  return (
    <>
      {delivered ? (
        <Badge tone="good" icon="check" label="Delivered" />
      ) : (
        <Badge tone="bad" icon="cross" label="Failed" />
      )}
      <span class="number">
        {statusCode === null ? attemptErrorText(error) : `HTTP ${statusCode}`} after {durationText(durationMs)}
      </span>
      {response === null || response === '' ? null : <code class="test-response">{response}</code>}
    </>
  );
}
