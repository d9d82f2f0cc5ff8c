import { Badge } from '../../components/values/badge.tsx';
import { Time } from '../../components/values/time.tsx';

type Props = { dateCreated: number; dateExpires: number | null; only: boolean; id: string };

/** The id of a secret or a key, its creation date, and the date until which it signs. */
export function Lifetime({ dateCreated, dateExpires, only, id }: Props) {
  return (
    <div class="secret-head">
      {dateExpires === null ? (
        <Badge tone="good" icon="check" label={only ? 'Active' : 'Newest'} />
      ) : (
        <Badge tone="warning" icon="clock">
          Expires <Time seconds={dateExpires} />
        </Badge>
      )}
      <span class="small muted">
        created <Time seconds={dateCreated} />
      </span>
      <code class="small muted secret-id">{id}</code>
    </div>
  );
}
