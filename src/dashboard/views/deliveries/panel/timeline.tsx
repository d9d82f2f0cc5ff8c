import type { Attempt, DeliveryDetail } from '../../../../client/types.ts';
import { Icon } from '../../../components/icon.tsx';
import { errorText } from '../../../components/values/attempt-error.ts';
import { spanText } from '../../../components/values/duration-text.ts';
import { ClockTime, Countdown, Time } from '../../../components/values/time.tsx';

const KINDS: Readonly<Record<Attempt['kind'], string>> = {
  first: 'First try',
  retry: 'Retry',
  redelivery: 'Sent again',
  test: 'Test',
};

/** Every attempt in its order with the time between them, and at the end what comes next. */
export function TimeLine({ delivery }: { delivery: DeliveryDetail }) {
  const { attemptLog, dateCreated, dateNextAttempt } = delivery;
  return (
    <ol class="time-line" aria-label="Attempts">
      <li class="moment">
        <span class="moment-mark moment-neutral">
          <Icon name="dot" size={12} />
        </span>
        <p>
          <strong>Accepted</strong> <Time seconds={dateCreated} />
        </p>
      </li>
      {attemptLog.map((attempt, index) => (
        <AttemptMoment key={attempt.attempt} attempt={attempt} before={attemptLog[index - 1] ?? null} />
      ))}
      {dateNextAttempt === null ? null : <NextTry dateS={dateNextAttempt} made={attemptLog.length} />}
    </ol>
  );
}

function AttemptMoment({ attempt, before }: { attempt: Attempt; before: Attempt | null }) {
  const { kind, startedAtMs, durationMs, statusCode, error, response, postUrl } = attempt;
  const took = statusCode !== null && statusCode >= 200 && statusCode < 300;
  return (
    <li class="moment">
      <span class={`moment-mark moment-${took ? 'good' : 'bad'}`}>
        <Icon name={took ? 'check' : 'cross'} size={12} />
      </span>
      <p>
        <strong>{KINDS[kind]}</strong> <ClockTime milliseconds={startedAtMs} />
        {before === null ? null : <span class="muted"> · {spanText(startedAtMs - before.startedAtMs)} later</span>}
      </p>
      <p class={took ? 'moment-outcome' : 'moment-outcome fault'}>
        {statusCode === null ? errorText(error) : `Answered ${statusCode}`}{' '}
        <span class="muted">after {spanText(durationMs)}</span>
      </p>
      {before === null || before.postUrl === postUrl ? null : <p class="small muted">To {postUrl}</p>}
      {response === null || response === '' ? null : <Response text={response} />}
    </li>
  );
}

const SHORT = 120;

/** A short answer is shown; a long one, mostly a page of HTML, on demand. */
function Response({ text }: { text: string }) {
  if (text.length <= SHORT && !text.includes('\n')) return <code class="moment-response">{text}</code>;
  return (
    <details>
      <summary>The answer’s body</summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <pre class="moment-response" tabIndex={0}>
        {text}
      </pre>
    </details>
  );
}

const SOON_S = 90;

function NextTry({ dateS, made }: { dateS: number; made: number }) {
  const leftS = dateS - Date.now() / 1000;
  return (
    <li class="moment">
      <span class="moment-mark moment-next">
        <Icon name="clock" size={12} />
      </span>
      <p>
        <strong>{made === 0 ? 'First try' : 'Next try'}</strong>{' '}
        {leftS < SOON_S ? (
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
