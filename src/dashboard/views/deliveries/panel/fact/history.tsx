import type { FactStep } from '../../../../../client/chain/facts.ts';
import { durationText } from '../../../../components/values/duration-text.ts';
import { ClockTime, Time } from '../../../../components/values/time.tsx';
import { Timeline, TimelineStep } from '../../../../components/values/timeline.tsx';
import { displayOf } from './steps.ts';

/** Every state and block that a fact had, in order. */
export function History({ steps }: { steps: readonly FactStep[] }) {
  return (
    <Timeline label="History on the network">
      {steps.map((step, index) => (
        <Step key={index} step={step} previous={steps[index - 1] ?? null} />
      ))}
    </Timeline>
  );
}

function Step({ step, previous }: { step: FactStep; previous: FactStep | null }) {
  const { title, mark, icon } = displayOf(step, previous);
  const { dateCreated, blockHash, revision, state } = step;
  const hasNewBlock = state === 'seen' && blockHash !== null;
  return (
    <TimelineStep mark={mark} icon={icon}>
      <p class={state === 'retracted' ? 'error-text' : ''}>
        <strong>{title}</strong>
      </p>
      <p class="muted">
        {previous === null ? (
          <Time seconds={dateCreated} />
        ) : (
          <>
            <ClockTime milliseconds={dateCreated * 1000} />
            {laterText(dateCreated - previous.dateCreated)}
          </>
        )}
        {revision > (previous?.revision ?? 1) ? ` · revision ${revision}` : null}
      </p>
      {hasNewBlock ? (
        <p class="small muted cut" title={blockHash}>
          Block hash <code>{blockHash}</code>
        </p>
      ) : null}
    </TimelineStep>
  );
}

function laterText(seconds: number): string {
  return seconds <= 0 ? '' : ` · ${durationText(seconds * 1000)} later`;
}
