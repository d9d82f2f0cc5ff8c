import { Curl } from './values/copy.tsx';

/** Only the kind and the network of an event are required. */
const EVENT = { event: 'TransferFinalized', networkId: 8453, transferId: 'trf_1', amount: '25.00', currency: 'USDC' };

/** The command that publishes a first event, for views that are still empty. */
export function FirstEvent() {
  return <Curl method="POST" path="/events" body={EVENT} />;
}
