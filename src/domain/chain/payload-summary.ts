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

/** Null if the body does not describe a payment, or is too long. */
export function summaryOf(body: string | null, networkId: number): PayloadSummary | null {
  const payload = body === null || body.length > MAX_SUMMARY_BYTES ? null : parseObject(body);
  if (payload === null) return null;
  const summary = {
    amount: textIn(payload, 'amount'),
    token: tokenIn(payload, networkId),
    agreementId: textIn(payload, 'agreementId'),
    transferId: textIn(payload, 'transferId'),
    payer: textIn(payload, 'payer'),
  };
  return Object.values(summary).every((value) => value === null) ? null : summary;
}

/**
 * The currency, or the token of a payment. Anyone can give a token any symbol, so the field `symbol` counts only in the event
 * of a sender that names no token.
 */
function tokenIn(payload: Readonly<Record<string, unknown>>, networkId: number): string | null {
  const currency = textIn(payload, 'currency');
  if (currency !== null) return currency;
  const token = textIn(payload, 'token');
  if (token !== null) return listedSymbol(networkId, token) ?? token;
  return 'paymentId' in payload ? null : (textIn(payload, 'symbol') ?? textIn(payload, 'asset'));
}

function parseObject(body: string): Readonly<Record<string, unknown>> | null {
  try {
    const parsed: unknown = JSON.parse(body);
    return typeof parsed === 'object' && parsed !== null ? (parsed as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

/** Null for numbers, because JavaScript rounds them. */
function textIn(payload: Readonly<Record<string, unknown>>, name: string): string | null {
  const value = payload[name];
  return typeof value === 'string' && value !== '' && value.length <= MAX_CHARACTERS ? value : null;
}
