import type { ApiKey } from '../../../../client/admin.ts';
import { Badge } from '../../../components/values/badge.tsx';
import { Time } from '../../../components/values/time.tsx';

export function isInForce({ dateRevoked, dateExpires }: ApiKey): boolean {
  return dateRevoked === null && (dateExpires === null || dateExpires * 1000 > Date.now());
}

/** Whether a key can be used, and until when. */
export function KeyState({ apiKey }: { apiKey: ApiKey }) {
  const { dateRevoked, dateExpires } = apiKey;
  if (dateRevoked !== null) {
    return (
      <span class="key-state">
        <Badge tone="neutral" icon="minus">
          Revoked
        </Badge>
        <span class="small muted">
          <Time seconds={dateRevoked} />
        </span>
      </span>
    );
  }
  if (!isInForce(apiKey)) {
    return (
      <Badge tone="neutral" icon="minus">
        Expired
      </Badge>
    );
  }
  return (
    <span class="key-state">
      <Badge tone="good" icon="check">
        Active
      </Badge>
      {dateExpires === null ? null : (
        <span class="small muted">
          until <Time seconds={dateExpires} />
        </span>
      )}
    </span>
  );
}
