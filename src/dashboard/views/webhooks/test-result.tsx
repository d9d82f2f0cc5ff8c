import type { TestAnswer } from '../../../client/types.ts';
import type { ApiProblem } from '../../api.ts';
import { Icon } from '../../components/icon.tsx';
import { errorText } from '../../components/values/attempt-error.ts';
import { Badge } from '../../components/values/badge.tsx';

export type Tested =
  | { readonly state: 'sending' }
  | { readonly state: 'answered'; readonly answer: TestAnswer }
  | { readonly state: 'refused'; readonly problem: ApiProblem };

/** What came of a test, in a row of its own right under the webhook. */
export function TestResult({ tested, onDismiss }: { tested: Tested; onDismiss: () => void }) {
  return (
    <tr class="test-result">
      <td colSpan={5}>
        <div class="test-line" role="status">
          {tested.state === 'sending' ? (
            <Badge tone="info" icon="clock">
              Sending a test…
            </Badge>
          ) : tested.state === 'refused' ? (
            <>
              <Badge tone="bad" icon="cross">
                Not sent
              </Badge>
              <span>{tested.problem.detail}</span>
            </>
          ) : (
            <Answered answer={tested.answer} />
          )}
          <button type="button" class="button button-icon" aria-label="Put the result away" onClick={onDismiss}>
            <Icon name="cross" size={14} />
          </button>
        </div>
      </td>
    </tr>
  );
}

function Answered({ answer: { delivered, statusCode, error, durationMs, response } }: { answer: TestAnswer }) {
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
        {statusCode === null ? errorText(error) : `The receiver answered ${statusCode}`} after {durationMs} ms
      </span>
      {response === null || response === '' ? null : <code class="test-response">{response}</code>}
    </>
  );
}
