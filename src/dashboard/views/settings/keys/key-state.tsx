import type { ApiKey } from '../../../../client/admin.ts';
import { Badge } from '../../../components/values/badge.tsx';
import { Time } from '../../../components/values/time.tsx';

export function isInForce({ dateRevoked, dateExpires }: ApiKey): boolean {
  return dateRevoked === null && (dateExpires === null || dateExpires * 1000 > Date.now());
}

/** Whether a key can be used, and until when. */
export function KeyState({ apiKey }: { apiKey: ApiKey }) {
  const { dateRevoked, dateExpires } = apiKey;
  const isUsable = isInForce(apiKey);
  const label = isUsable ? 'Active' : dateRevoked === null ? 'Expired' : 'Revoked';
  const date = dateRevoked ?? (isUsable ? dateExpires : null);
  return (
    <span class="key-state">
      <Badge tone={isUsable ? 'good' : 'neutral'} icon={isUsable ? 'check' : 'minus'} label={label} />
      {date === null ? null : (
        <span class="small muted">
          {isUsable ? 'until ' : ''}
          <Time seconds={date} />
        </span>
      )}
    </span>
  );
}
