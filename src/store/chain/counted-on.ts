import { MAX_CONFIRMATIONS } from '../../domain/chain/finality.ts';

/** No webhook counts more blocks than this, so the webhooks need not be read for older facts. */
export const COUNTED_BLOCKS = MAX_CONFIRMATIONS;

/**
 * The condition that a webhook still counts confirmations of the fact `f`. A webhook can want more confirmations than finality
 * takes, so even a final fact may get further events. Rules by amount count with their most confirmations. The events of a source
 * have other kinds than its facts, so for them every webhook of the network counts.
 */
export const IS_COUNTED_ON = `(f.block_number > (select coalesce(n.head, 0) - ${COUNTED_BLOCKS} from chains n where n.network_id = f.network_id)
  and exists (select 1 from webhooks w join chains c on c.network_id = w.network_id
    where w.entity_id = f.entity_id and w.network_id = f.network_id and (w.event = f.kind or f.source_id is not null)
      and w.finality is not null and f.block_number - 1 + w.most_confirmations > coalesce(c.head, 0)))`;
