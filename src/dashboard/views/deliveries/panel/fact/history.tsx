import type { FactStep } from '../../../../../client/chain/facts.ts';
import { Icon } from '../../../../components/icon.tsx';
import { durationText } from '../../../../components/values/duration-text.ts';
import { ClockTime, Time } from '../../../../components/values/time.tsx';
import { displayOf } from './steps.ts';

/** Every state and block that a fact had, in order. */
export function History({ steps }: { steps: readonly FactStep[] }) {
  return (
    <ol class="timeline" aria-label="History on the network">
      {steps.map((step, index) => (
        <Step key={index} step={step} previous={steps[index - 1] ?? null} />
      ))}
    </ol>
  );
}

function Step({ step, previous }: { step: FactStep; previous: FactStep | null }) {
  const { title, mark, icon } = displayOf(step, previous);
  const { dateCreated, blockHash, revision, state } = step;
  const hasNewBlock = state === 'seen' && blockHash !== null;
  return (
    <li class="timeline-entry">
      <span class={`timeline-mark timeline-${mark}`}>
        <Icon name={icon} size={12} />
      </span>
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
    </li>
  );
}

function laterText(seconds: number): string {
  return seconds <= 0 ? '' : ` · ${durationText(seconds * 1000)} later`;
}
