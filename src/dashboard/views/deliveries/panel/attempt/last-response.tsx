import type { DeliveryDetail } from '../../../../../client/deliveries.ts';
import { attemptErrorText } from '../../../../../contract/attempt-error-text.ts';
import { Icon } from '../../../../components/icon.tsx';
import { durationText } from '../../../../components/values/duration-text.ts';
import { Time } from '../../../../components/values/time.tsx';
import { ResponseBody } from './response-body.tsx';

/** The last response of the endpoint comes first: people open a delivery to see it. */
export function LastResponse({ delivery: { attemptLog } }: { delivery: DeliveryDetail }) {
  const last = attemptLog.at(-1);
  if (last === undefined) return null;
  const { statusCode, error, response, durationMs, startedAtMs } = last;
  const succeeded = statusCode !== null && statusCode >= 200 && statusCode < 300;
  return (
    <section class={`last-response last-response-${succeeded ? 'good' : 'bad'}`}>
      <h3>Last response</h3>
      <p>
        <Icon name={succeeded ? 'check' : 'cross'} size={14} />
        <strong>{statusCode === null ? attemptErrorText(error) : `Status ${statusCode}`}</strong>
        <span class="muted small">
          after {durationText(durationMs)}, <Time seconds={Math.floor(startedAtMs / 1000)} />
        </span>
      </p>
      {response === null || response === '' ? null : <ResponseBody text={response} open />}
    </section>
  );
}
