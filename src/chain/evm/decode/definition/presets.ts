import { TRANSFER } from '../../../../domain/chain/facts.ts';
import type { EvmPreset, WhereValue } from '../../../../domain/chain/source-definition.ts';

/** Where a preset takes a field of the payload from. */
export type PresetField =
  /** The parameter of this name. */
  | string
  /** An amount, with the parameter that names its token; null if the contract itself is the token. */
  | { readonly from: string; readonly token: string | null }
  /** The address of the contract. */
  | { readonly contract: true }
  /** The parameter `from`, if the parameter `when` has this value. */
  | { readonly from: string; readonly when: string; readonly equals: WhereValue }
  /** Several addresses, joined by hyphens. */
  | { readonly join: readonly string[] };

export type PresetRules = {
  readonly abi: string;
  /** The kind of its facts; null if it depends on the log. */
  readonly kind: string | null;
  readonly where: Readonly<Record<string, WhereValue>>;
  /** `where` must have at least one of these, because most logs of a shared contract are about other payments. */
  readonly oneOf: readonly string[];
  /** The parameter that names the token. The payer chooses its value, so `where` must list the tokens that count. */
  readonly tokenParameter: string | null;
  readonly fields: Readonly<Record<string, PresetField>>;
};

/** The kinds that a flow of Superfluid leads to. */
export const FLOW_KINDS = { opened: 'AgreementSignedUp', closed: 'AgreementCancelled' } as const;

const TOKEN_TRANSFER: PresetRules = {
  abi: 'event Transfer(address indexed from, address indexed to, uint256 value)',
  kind: TRANSFER,
  where: {},
  oneOf: ['to', 'from'],
  tokenParameter: null,
  fields: { payer: 'from', payee: 'to', amount: { from: 'value', token: null }, token: { contract: true } },
};

/** Presets read only the fields that the logs of a known contract prove. `docs/chain.md` lists what each preset does not prove. */
export const PRESET_RULES: Readonly<Record<EvmPreset, PresetRules>> = {
  erc20: TOKEN_TRANSFER,
  // The same log, under the name that it has on Tron.
  trc20: TOKEN_TRANSFER,
  // Paybell itself makes such a log for each transfer of the coin.
  native: TOKEN_TRANSFER,
  'request-network': {
    abi: 'event TransferWithReferenceAndFee(address tokenAddress, address to, uint256 amount, bytes indexed paymentReference, uint256 feeAmount, address feeAddress)',
    kind: TRANSFER,
    where: {},
    oneOf: ['to', 'paymentReference'],
    tokenParameter: 'tokenAddress',
    fields: {
      // The log has the hash of the reference, but not the payer.
      transferId: 'paymentReference',
      payee: 'to',
      amount: { from: 'amount', token: 'tokenAddress' },
      token: 'tokenAddress',
    },
  },
  loop: {
    abi: 'event TransferProcessed(address indexed caller, string id, bool success, bool inbound, address token, address endUser, uint256 amount, uint256 processingFee, bytes err)',
    kind: TRANSFER,
    // The contract also logs failed transfers.
    where: { success: true },
    oneOf: [],
    tokenParameter: 'token',
    fields: {
      transferId: 'id',
      payer: { from: 'endUser', when: 'inbound', equals: true },
      payee: { from: 'endUser', when: 'inbound', equals: false },
      amount: { from: 'amount', token: 'token' },
      token: 'token',
      processingFee: { from: 'processingFee', token: 'token' },
    },
  },
  superfluid: {
    abi: 'event FlowUpdated(address indexed token, address indexed sender, address indexed receiver, int96 flowRate, int256 totalSenderFlowRate, int256 totalReceiverFlowRate, bytes userData)',
    kind: null,
    where: {},
    oneOf: ['receiver', 'sender'],
    tokenParameter: 'token',
    fields: {
      agreementId: { join: ['sender', 'receiver', 'token'] },
      payer: 'sender',
      payee: 'receiver',
      flowRate: { from: 'flowRate', token: 'token' },
      token: 'token',
    },
  },
};

/** The rules of a preset; null for a preset that is not about logs. */
export function presetRules(preset: string | null): PresetRules | null {
  return preset !== null && isEvmPreset(preset) ? PRESET_RULES[preset] : null;
}

function isEvmPreset(preset: string): preset is EvmPreset {
  return Object.hasOwn(PRESET_RULES, preset);
}
