import { SelectField } from '../../../components/inputs.tsx';

const DAY_S = 86_400;
const CHOICES_DAYS = [7, 30, 90, 365];
const dateTime = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });

/** Without a choice, the new key expires with the key that creates it. */
export function expiryOf(days: string, nowMs: number): { dateExpires?: number } {
  return days === '' ? {} : { dateExpires: Math.floor(nowMs / 1000) + Number(days) * DAY_S };
}

type ExpiryProps = {
  value: string;
  onChange: (days: string) => void;
  /** When the key of the session expires, which is the latest expiry of a new key; null for never. */
  latestS: number | null;
  error: string | null;
};

export function ExpiryField({ value, onChange, latestS, error }: ExpiryProps) {
  const nowS = Date.now() / 1000;
  const possible = CHOICES_DAYS.filter((days) => latestS === null || nowS + days * DAY_S < latestS);
  const longest =
    latestS === null ? 'Never' : `With the key of this session, ${dateTime.format(new Date(latestS * 1000))}`;
  return (
    <SelectField
      label="Expires"
      error={error}
      hint={latestS === null ? undefined : 'No later than the key of this session.'}
      value={value}
      options={[
        ['', longest],
        ...possible.map((days) => [days, days === 365 ? 'In one year' : `In ${days} days`] as const),
      ]}
      onChoose={onChange}
    />
  );
}
