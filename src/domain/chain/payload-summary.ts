import { listedSymbol } from './tokens.ts';

/** Longer bodies have no summary, so that a page of deliveries reads little. */
export const MAX_SUMMARY_BYTES = 8_192;
const MAX_CHARACTERS = 200;

/** Fields of a payload that describe its payment. */
export type PayloadSummary = {
  amount: string | null;
  token: string | null;
  agreementId: string | null;
  transferId: string | null;
  payer: string | null;
};

/** Null if the body says nothing of a payment, or is too long. */
export function summaryOf(body: string | null, networkId: number): PayloadSummary | null {
  const payload = body === null || body.length > MAX_SUMMARY_BYTES ? null : parseObject(body);
  if (payload === null) return null;
  const token = textIn(payload, 'token');
  const summary = {
    amount: textIn(payload, 'amount'),
    token:
      textIn(payload, 'currency') ?? (token === null ? null : (listedSymbol(networkId, token.toLowerCase()) ?? token)),
    agreementId: textIn(payload, 'agreementId'),
    transferId: textIn(payload, 'transferId'),
    payer: textIn(payload, 'payer'),
  };
  return Object.values(summary).every((value) => value === null) ? null : summary;
}

function parseObject(body: string): Readonly<Record<string, unknown>> | null {
  try {
    const parsed: unknown = JSON.parse(body);
    return typeof parsed === 'object' && parsed !== null ? (parsed as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

/** Numbers are left out, because JavaScript rounds them. */
function textIn(payload: Readonly<Record<string, unknown>>, name: string): string | null {
  const value = payload[name];
  return typeof value === 'string' && value !== '' && value.length <= MAX_CHARACTERS ? value : null;
}
