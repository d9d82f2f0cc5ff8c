import type { Attempt, DeliveryDetail, WaitsFor } from '../../../../client/deliveries.ts';
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
  const { attemptLog, dateCreated, dateNextAttempt, body, waitsFor } = delivery;
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
      {dateNextAttempt === null ? null : (
        <TimelineStep mark="next" icon="clock">
          <p>
            <strong>{attemptLog.length === 0 ? 'First attempt' : 'Next attempt'}</strong>{' '}
            {isTimed(waitsFor) ? <NextTime seconds={dateNextAttempt} /> : 'when it no longer waits'}
          </p>
        </TimelineStep>
      )}
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

/** Whether the time of the next attempt is known: other waits end with a delivery, a receiver or a person. */
const isTimed = (waitsFor: WaitsFor | null) =>
  waitsFor === null || waitsFor.kind === 'retry' || waitsFor.kind === 'slot';

const COUNTDOWN_BELOW_S = 90;

function NextTime({ seconds }: { seconds: number }) {
  const leftS = seconds - Date.now() / 1000;
  return leftS < COUNTDOWN_BELOW_S ? <DueCountdown untilMs={seconds * 1000} /> : <Time seconds={seconds} />;
}
