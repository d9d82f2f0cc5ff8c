import type { TestAnswer } from '../../../client/webhooks.ts';
import { attemptErrorText } from '../../../contract/attempt-error-text.ts';
import type { ApiProblem } from '../../api.ts';
import { Icon } from '../../components/icon.tsx';
import { Badge } from '../../components/values/badge.tsx';
import { durationText } from '../../components/values/duration-text.ts';

export type TestState =
  | { readonly state: 'sending' }
  | { readonly state: 'sent'; readonly result: TestAnswer }
  | { readonly state: 'rejected'; readonly problem: ApiProblem };

/** The result of a test event, in a row under its webhook. */
export function TestResult({ test, onDismiss }: { test: TestState; onDismiss: () => void }) {
  return (
    <tr class="test-result">
      <td colSpan={5}>
        <div class="test-summary" role="status">
          {test.state === 'sending' ? (
            <Badge tone="info" icon="clock">
              Sending test event…
            </Badge>
          ) : test.state === 'rejected' ? (
            <>
              <Badge tone="bad" icon="cross">
                Not sent
              </Badge>
              <span>{test.problem.detail}</span>
            </>
          ) : (
            <SentResult result={test.result} />
          )}
          <button type="button" class="button button-icon" aria-label="Dismiss test result" onClick={onDismiss}>
            <Icon name="cross" size={14} />
          </button>
        </div>
      </td>
    </tr>
  );
}

function SentResult({ result: { delivered, statusCode, error, durationMs, response } }: { result: TestAnswer }) {
  return (
    <>
      {delivered ? (
        <Badge tone="good" icon="check">
          Delivered
        </Badge>
      ) : (
        <Badge tone="bad" icon="cross">
          Failed
        </Badge>
      )}
      <span class="number">
        {statusCode === null ? attemptErrorText(error) : `HTTP ${statusCode}`} after {durationText(durationMs)}
      </span>
      {response === null || response === '' ? null : <code class="test-response">{response}</code>}
    </>
  );
}
