import type { Endpoint } from '../../../client/endpoints.ts';
import { paybell } from '../../api.ts';
import { runAction } from '../../components/run-action.ts';

type Paused = Pick<Endpoint, 'endpointId' | 'paused'>;

const PAUSED = 'Endpoint paused. Its deliveries are held until you resume it. Nothing is lost.';

/** Pauses an endpoint and offers to undo that, or resumes a paused endpoint. */
export async function setPaused({ endpointId, paused }: Paused, reload: () => Promise<void>): Promise<void> {
  const { endpoints } = paybell();
  const undo = () => void setPaused({ endpointId, paused: true }, reload);
  const isDone = paused
    ? await runAction(
        () => endpoints.resume(endpointId),
        'Endpoint resumed. Held deliveries are being sent.',
        'Endpoint not resumed.',
      )
    : await runAction(() => endpoints.pause(endpointId), PAUSED, 'Endpoint not paused.', undo);
  if (isDone) await reload();
}
