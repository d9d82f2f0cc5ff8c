import type { Attempt, DeliveryDetail } from '../../../../client/deliveries.ts';
import { attemptErrorText } from '../../../../contract/attempt-error-text.ts';
import { Icon } from '../../../components/icon.tsx';
import { durationText } from '../../../components/values/duration-text.ts';
import { ClockTime, Countdown, Time } from '../../../components/values/time.tsx';

const KINDS: Readonly<Record<Attempt['kind'], string>> = {
  first: 'First attempt',
  retry: 'Retry',
  redelivery: 'Resent',
  test: 'Test',
};

/** The attempts in order, with the time between them, and the next scheduled attempt. */
export function Timeline({ delivery }: { delivery: DeliveryDetail }) {
  const { attemptLog, dateCreated, dateNextAttempt } = delivery;
  return (
    <ol class="timeline" aria-label="Attempts">
      <li class="timeline-entry">
        <span class="timeline-mark timeline-neutral">
          <Icon name="dot" size={12} />
        </span>
        <p>
          <strong>Accepted</strong> <Time seconds={dateCreated} />
        </p>
      </li>
      {attemptLog.map((attempt, index) => (
        <AttemptEntry key={attempt.attempt} attempt={attempt} previous={attemptLog[index - 1] ?? null} />
      ))}
      {dateNextAttempt === null ? null : <NextAttempt dateS={dateNextAttempt} attempts={attemptLog.length} />}
    </ol>
  );
}

function AttemptEntry({ attempt, previous }: { attempt: Attempt; previous: Attempt | null }) {
  const { kind, startedAtMs, durationMs, statusCode, error, response, postUrl } = attempt;
  const succeeded = statusCode !== null && statusCode >= 200 && statusCode < 300;
  return (
    <li class="timeline-entry">
      <span class={`timeline-mark timeline-${succeeded ? 'good' : 'bad'}`}>
        <Icon name={succeeded ? 'check' : 'cross'} size={12} />
      </span>
      <p>
        <strong>{KINDS[kind]}</strong> <ClockTime milliseconds={startedAtMs} />
        {previous === null ? null : (
          <span class="muted"> · {durationText(startedAtMs - previous.startedAtMs)} later</span>
        )}
      </p>
      <p class={succeeded ? 'timeline-outcome' : 'timeline-outcome error-text'}>
        {statusCode === null ? attemptErrorText(error) : `HTTP ${statusCode}`}{' '}
        <span class="muted">after {durationText(durationMs)}</span>
      </p>
      {previous === null || previous.postUrl === postUrl ? null : <p class="small muted">Sent to {postUrl}</p>}
      {response === null || response === '' ? null : <ResponseBody text={response} />}
    </li>
  );
}

const MAX_INLINE_CHARS = 120;

/** Shows a short response inline. A long one, often an HTML error page, is collapsed. */
function ResponseBody({ text }: { text: string }) {
  if (text.length <= MAX_INLINE_CHARS && !text.includes('\n')) return <code class="timeline-response">{text}</code>;
  return (
    <details>
      <summary>Response body</summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <pre class="timeline-response" tabIndex={0}>
        {text}
      </pre>
    </details>
  );
}

const COUNTDOWN_BELOW_S = 90;

function NextAttempt({ dateS, attempts }: { dateS: number; attempts: number }) {
  const leftS = dateS - Date.now() / 1000;
  return (
    <li class="timeline-entry">
      <span class="timeline-mark timeline-next">
        <Icon name="clock" size={12} />
      </span>
      <p>
        <strong>{attempts === 0 ? 'First attempt' : 'Next attempt'}</strong>{' '}
        {leftS < COUNTDOWN_BELOW_S ? (
          <>
            in <Countdown untilMs={dateS * 1000} />
          </>
        ) : (
          <Time seconds={dateS} />
        )}
      </p>
    </li>
  );
}
