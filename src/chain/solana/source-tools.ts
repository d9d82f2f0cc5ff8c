import {
  MAX_LOGS_SHOWN,
  MAX_RECENT_EVENTS,
  type SourcePreview,
  type SourceRecentEvents,
} from '../../contract/chain/sources.ts';
import { type InputError, invalidRequest, Problem } from '../../contract/problems.ts';
import { kindsOf } from '../../domain/chain/facts.ts';
import { definitionHash, type SourceDefinition } from '../../domain/chain/source-definition.ts';
import type { FollowedSource } from '../../store/chain/network-store.ts';
import type { PreparedSource } from '../../store/chain/sources/sources.ts';
import type { FamilyTools, ToolParts } from '../family.ts';
import type { Call } from '../rpc/call.ts';
import { RpcFailure } from '../rpc/failures.ts';
import { associatedAccount } from './decode/associated-account.ts';
import { type Credit, creditsOf, NATIVE } from './decode/credits.ts';
import { compileSource } from './decode/definition.ts';
import { type Payment, PaymentDecoder } from './decode/facts.ts';
import type { Transaction } from './decode/transaction.ts';
import { nameOwner } from './practice/practice-exchange.ts';
import { signaturesOf, slotOf, statusesOf, transactionOf } from './rpc/calls.ts';
import { MAX_AT_ONCE, type ShownAccount, shownAccountsOf } from './rpc/shown-accounts.ts';

const RETRY_AFTER_S = 5;
/** A preview reads only the first wallets, because each wallet needs a list. */
const RECENT_WALLETS = 4;
/** Number of accounts to derive before other work may run. */
const DERIVED_AT_ONCE = 20;

/** Answers the API's questions about sources on Solana. Each error becomes a problem whose text says how to fix it. */
export class SolanaTools implements FamilyTools {
  constructor(private readonly options: ToolParts) {}

  async prepareSource(definition: SourceDefinition): Promise<PreparedSource> {
    const { networkId, fromBlock, preset } = definition;
    const compiled = compile(definition);
    const { token, wallets } = compiled.source;
    const head = await this.#ask(networkId, slotOf('confirmed'));
    const errors: InputError[] = [];
    const program = token === NATIVE ? null : await this.#programOf(networkId, token, errors);
    await this.#checkWallets(networkId, [...wallets], errors);
    if (fromBlock !== 'latest' && fromBlock > head) {
      const message = `must be at most ${head}, which is the newest slot now, or "latest" for the slots from now on`;
      errors.push({ in: 'body', name: 'fromBlock', message });
    }
    if (errors.length > 0) throw invalidRequest(errors);
    const accounts = await this.#accountsOf([...wallets], token, program);
    return { definition: compiled.definition, topic: preset ?? '', topics: [[...wallets], accounts], head };
  }

  /** The program of a token, or null with an error if no token is at this address. */
  async #programOf(networkId: number, mint: string, errors: InputError[]): Promise<string | null> {
    const [account = null] = await this.#ask(networkId, shownAccountsOf([mint]));
    if (account?.kind === 'mint') return account.program;
    const message = `is not a token on network ${networkId}: no mint is at this address`;
    errors.push({ in: 'body', name: 'contract', message });
    return null;
  }

  async #checkWallets(networkId: number, wallets: readonly string[], errors: InputError[]): Promise<void> {
    for (let at = 0; at < wallets.length; at += MAX_AT_ONCE) {
      const chunk = wallets.slice(at, at + MAX_AT_ONCE);
      const accounts = await this.#ask(networkId, shownAccountsOf(chunk));
      for (const [place, wallet] of chunk.entries()) {
        const message = walletError(wallet, accounts[place] ?? null);
        if (message !== null) errors.push({ in: 'body', name: 'where.to', message });
      }
    }
  }

  async preview(
    networkId: number,
    wanted: SourceDefinition | readonly FollowedSource[],
    signature: string,
  ): Promise<SourcePreview> {
    const sources = 'length' in wanted ? wanted : [asSource(compile(wanted).definition)];
    const transaction = await this.#readTransaction(networkId, signature);
    const payments = new PaymentDecoder().decode(transaction, sources);
    const credits = creditsOf(transaction);
    const taken = new Set(payments.map(({ place }) => place));
    const others = credits.filter(({ place }) => !taken.has(place)).slice(0, MAX_LOGS_SHOWN);
    const tokens = new Set(sources.map(({ definition }) => definition.contract));
    return {
      networkId,
      transactionHash: signature,
      blockNumber: transaction.slot,
      isSuccess: !transaction.isFailed,
      logs: credits.length,
      events: payments.map((each) => ({ ...eventOf(each), sourceId: 'length' in wanted ? each.sourceId : null })),
      others: others.map((credit) => ({
        logIndex: credit.place,
        contract: credit.token,
        reason: reasonOf(credit, tokens),
      })),
    };
  }

  async previewRecent(wanted: SourceDefinition): Promise<SourceRecentEvents> {
    const { networkId } = wanted;
    const { definition, source } = compile(wanted);
    const head = await this.#ask(networkId, slotOf('confirmed'));
    const errors: InputError[] = [];
    const program = source.token === NATIVE ? null : await this.#programOf(networkId, source.token, errors);
    if (errors.length > 0) throw invalidRequest(errors);
    const accounts = await this.#accountsOf([...source.wallets].slice(0, RECENT_WALLETS), source.token, program);
    const listed = [];
    for (const account of accounts) {
      const entries = await this.#ask(networkId, signaturesOf(account, { minContextSlot: null }));
      listed.push(...entries.slice(0, MAX_RECENT_EVENTS));
    }
    const newest = listed.filter(({ isFailed }) => !isFailed).sort((a, b) => b.slot - a.slot);
    const shown = newest.slice(0, MAX_RECENT_EVENTS);
    const decoder = new PaymentDecoder();
    const payments: (Payment & { readonly blockS: number | null })[] = [];
    for (const { signature } of shown) {
      const transaction = await this.#ask(networkId, transactionOf(signature));
      if (transaction === null) continue;
      const { blockS } = transaction;
      payments.push(...decoder.decode(transaction, [asSource(definition)]).map((each) => ({ ...each, blockS })));
    }
    const events = payments.slice(0, MAX_RECENT_EVENTS).map((each) => ({
      ...eventOf(each),
      ...{ transactionHash: each.transactionHash, blockNumber: each.slot, dateBlock: each.blockS },
    }));
    return { networkId, fromBlock: shown.at(-1)?.slot ?? head, toBlock: head, found: payments.length, events };
  }

  async #accountsOf(wallets: readonly string[], token: string, program: string | null): Promise<string[]> {
    const accounts = await accountsOf(wallets, token, program);
    if (this.options.isPractice === true && program !== null) {
      for (const [place, account] of accounts.entries()) nameOwner(account, { wallet: wallets[place] ?? '', token });
    }
    return accounts;
  }

  async #readTransaction(networkId: number, signature: string): Promise<Transaction> {
    const transaction = await this.#ask(networkId, transactionOf(signature));
    if (transaction !== null) return transaction;
    const { statuses } = await this.#ask(networkId, statusesOf([signature]));
    if (statuses[0] != null) {
      const detail = `The transaction ${signature} is not confirmed on network ${networkId} yet. Try again once it is.`;
      throw new Problem('transaction_pending', detail, { headers: { 'retry-after': String(RETRY_AFTER_S) } });
    }
    const detail = `No node of network ${networkId} knows the transaction ${signature}. Check the signature and the network.`;
    throw new Problem('transaction_not_found', detail);
  }

  /** Passes on no text of a node, because the text may contain the node's URL. */
  async #ask<Result>(networkId: number, { method, params, read }: Call<Result>): Promise<Result> {
    try {
      return read(await this.options.call(networkId, method, params));
    } catch (error) {
      if (!(error instanceof RpcFailure)) throw error;
      const detail = `No node of network ${networkId} gives a usable response at the moment. Try again.`;
      throw new Problem('network_unavailable', detail, { headers: { 'retry-after': String(RETRY_AFTER_S) } });
    }
  }
}

function compile(definition: SourceDefinition) {
  const compiled = compileSource(definition);
  if (compiled.isValid) return compiled;
  throw invalidRequest(compiled.errors.map((error) => ({ in: 'body', ...error })));
}

/** Describes the mistake in a wallet; null if there is none. A wallet that does not exist yet can be paid. */
function walletError(wallet: string, account: ShownAccount | null): string | null {
  if (account?.kind === 'mint') return `${wallet} is a token; name a wallet that is paid`;
  if (account?.kind !== 'token account') return null;
  return `${wallet} is a token account; name the wallet that owns it, ${account.owner}`;
}

/** The account of each wallet that is watched. */
async function accountsOf(wallets: readonly string[], token: string, program: string | null): Promise<string[]> {
  if (program === null) return [...wallets];
  const accounts: string[] = [];
  for (const [at, wallet] of wallets.entries()) {
    accounts.push(associatedAccount(wallet, token, program));
    if (at % DERIVED_AT_ONCE === DERIVED_AT_ONCE - 1) await new Promise((resolve) => setImmediate(resolve));
  }
  return accounts;
}

function reasonOf({ token, payee }: Credit, tokens: ReadonlySet<string>): string {
  if (tokens.size === 0) return 'No source takes it.';
  return tokens.has(token)
    ? `It pays ${payee}, and \`where.to\` does not list this wallet.`
    : 'It is a payment in another token.';
}

/** Dust does not lead to events. */
function eventOf({ factId, kind, place, contract, fields, isDust = false }: Payment) {
  return { factId, kind, events: isDust ? [] : [...kindsOf(kind)], isDust, logIndex: place, contract, fields };
}

/**
 * A source that takes payments of any slot. Its id is the hash of the definition, so that different definitions have
 * different ids.
 */
function asSource(definition: SourceDefinition): FollowedSource {
  return {
    ...{ entityId: '', sourceId: definitionHash(definition), networkId: definition.networkId },
    ...{ contract: definition.contract, topic: '', definition, fromBlock: 0, createdHead: 0, deliverHistory: true },
    ...{ nextBlock: null, lastBlock: null },
  };
}
