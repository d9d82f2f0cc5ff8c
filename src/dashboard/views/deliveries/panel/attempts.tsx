import type { Attempt, DeliveryDetail } from '../../../../client/deliveries.ts';
import { attemptErrorText } from '../../../../contract/attempt-error-text.ts';
import { durationText } from '../../../components/values/duration-text.ts';
import { ClockTime, DueCountdown, Time } from '../../../components/values/time.tsx';
import { Timeline, TimelineStep } from '../../../components/values/timeline.tsx';
import { AttemptHeaders } from './attempt/headers.tsx';
import { ResponseBody } from './attempt/response-body.tsx';

const KINDS: Readonly<Record<Attempt['kind'], string>> = {
  first: 'First attempt',
  retry: 'Retry',
  redelivery: 'Resent',
  test: 'Test',
};

/** The attempts in order, with the time between them, and the next scheduled attempt. */
export function Attempts({ delivery }: { delivery: DeliveryDetail }) {
  const { attemptLog, dateCreated, dateNextAttempt, body } = delivery;
  return (
    <Timeline label="Attempts">
      <TimelineStep mark="neutral" icon="dot">
        <p>
          <strong>Accepted</strong> <Time seconds={dateCreated} />
        </p>
      </TimelineStep>
      {attemptLog.map((attempt, index) => (
        <AttemptStep key={attempt.attempt} attempt={attempt} previous={attemptLog[index - 1] ?? null} body={body} />
      ))}
      {dateNextAttempt === null ? null : <NextAttempt dateS={dateNextAttempt} attempts={attemptLog.length} />}
    </Timeline>
  );
}

type StepProps = { attempt: Attempt; previous: Attempt | null; body: string };

function AttemptStep({ attempt, previous, body }: StepProps) {
  const { kind, startedAtMs, durationMs, statusCode, error, response, postUrl } = attempt;
  const succeeded = statusCode !== null && statusCode >= 200 && statusCode < 300;
  return (
    <TimelineStep mark={succeeded ? 'good' : 'bad'} icon={succeeded ? 'check' : 'cross'}>
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
      <AttemptHeaders attempt={attempt} body={body} />
    </TimelineStep>
  );
}

const COUNTDOWN_BELOW_S = 90;

function NextAttempt({ dateS, attempts }: { dateS: number; attempts: number }) {
  const leftS = dateS - Date.now() / 1000;
  return (
    <TimelineStep mark="next" icon="clock">
      <p>
        <strong>{attempts === 0 ? 'First attempt' : 'Next attempt'}</strong>{' '}
        {leftS < COUNTDOWN_BELOW_S ? <DueCountdown untilMs={dateS * 1000} /> : <Time seconds={dateS} />}
      </p>
    </TimelineStep>
  );
}
