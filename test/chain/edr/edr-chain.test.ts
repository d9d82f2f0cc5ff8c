import { describe, expect, test } from 'bun:test';
import type { DeployedContract } from '../../support/chain/deployed-contract.ts';
import { EdrChain } from '../../support/chain/edr-chain.ts';
import { type JsonRpc, RpcError } from '../../support/chain/json-rpc.ts';
import { rejection } from '../../support/rejection.ts';

type Log = { address: string; transactionHash: string; blockNumber: string; topics: string[]; data: string };

const readLogs = async (rpc: JsonRpc) => (await rpc('eth_getLogs', [{ fromBlock: '0x0', toBlock: 'latest' }])) as Log[];

/** Where each transaction with a log stands. */
const positions = async (chain: EdrChain) =>
  Object.fromEntries((await readLogs(chain.rpc)).map((log) => [log.transactionHash, Number(log.blockNumber)]));

async function start(): Promise<{ chain: EdrChain; token: DeployedContract }> {
  const chain = await EdrChain.start();
  return { chain, token: await chain.deploy('Token', 'uint8', [6]) };
}

/** A payment from an account of its own, so that dropping it stops no later one. */
const pay = (chain: EdrChain, token: DeployedContract, from: number) =>
  chain.send(chain.account(from), token.call('mint(address,uint256)', [chain.account(from), 25n]));

describe('a fork of the EVM', () => {
  test('drops a transaction, moves another, and keeps the hash of both and the blocks below', async () => {
    const { chain, token } = await start();
    const below = await chain.mine();
    const [dropped, moved] = [await pay(chain, token, 1), await pay(chain, token, 2)];
    const old = await chain.mine(3);
    const head = await chain.fork(3, { place: ({ hash }) => (hash === moved ? 2 : null) });
    expect(head.number).toBe(old.number + 1);
    expect(await positions(chain)).toEqual({ [moved]: below.number + 3 });
    await chain.sendAgain(dropped);
    await chain.mine();
    expect(await positions(chain)).toEqual({ [moved]: below.number + 3, [dropped]: old.number + 2 });
  });

  test('has other hashes than the branch that it replaces, also when both are empty', async () => {
    const { chain } = await start();
    const below = await chain.mine();
    const old = await chain.mine();
    const first = await chain.fork(1, { length: 1 });
    const second = await chain.fork(1, { length: 1 });
    expect(new Set([old.hash, first.hash, second.hash]).size).toBe(3);
    expect(second).toMatchObject({ number: old.number, parentHash: below.hash });
  });

  test('can follow another, also below it', async () => {
    const { chain, token } = await start();
    const payment = await pay(chain, token, 1);
    await chain.mine(5);
    for (const depth of [1, 3, 5, 2]) await chain.fork(depth, { length: depth, place: () => 0 });
    expect(await positions(chain)).toEqual({ [payment]: (await chain.head()).number - 4 });
  });
});

describe('the contracts of the tests', () => {
  test('announce a payment as ERC-20 says, with all 256 bits of its value', async () => {
    const { chain, token } = await start();
    await chain.send(chain.account(1), token.call('mint(address,uint256)', [chain.account(2), 2n ** 256n - 1n]));
    await chain.mine();
    const [log] = await readLogs(chain.rpc);
    expect(log).toMatchObject({
      address: token.address,
      topics: [
        '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef',
        `0x${'0'.repeat(64)}`,
        `0x${chain.account(2).slice(2).padStart(64, '0')}`,
      ],
      data: `0x${'f'.repeat(64)}`,
    });
  });

  test('have a token that says its decimals, one that does not, and one that fails when it is asked', async () => {
    const { chain, token } = await start();
    const decimals = token.call('decimals()', []);
    expect(Number(await chain.rpc('eth_call', [decimals, 'latest']))).toBe(6);
    for (const name of ['TokenWithoutDecimals', 'TokenWithFailingDecimals']) {
      const { address: to } = await chain.deploy(name);
      expect(await rejection(chain.rpc('eth_call', [{ ...decimals, to }, 'latest']))).toBeInstanceOf(RpcError);
    }
  });

  test('emit the logs of every preset, under the topics of their signatures', async () => {
    const { chain, token } = await start();
    const [loop, proxy, flows] = [
      await chain.deploy('Loop'),
      await chain.deploy('FeeProxy'),
      await chain.deploy('Flows'),
    ];
    const payee = chain.account(3);
    const process = 'process(string,bool,address,address,uint256)';
    await chain.send(chain.account(1), loop.call(process, ['trf_1', true, token.address, payee, 5n]));
    const pay = 'pay(address,address,uint256,bytes,uint256,address)';
    await chain.send(chain.account(1), proxy.call(pay, [token.address, payee, 5n, '0xabcd', 1n, payee]));
    const setFlow = 'setFlow(address,address,int96,bytes)';
    await chain.send(chain.account(1), flows.call(setFlow, [token.address, payee, 7n, '0x']));
    await chain.mine();
    const topicOf = async (signature: string) =>
      (await chain.rpc('web3_sha3', [`0x${Buffer.from(signature).toString('hex')}`])) as string;
    expect((await readLogs(chain.rpc)).map(({ topics }) => topics[0])).toEqual([
      await topicOf('TransferProcessed(address,string,bool,bool,address,address,uint256,uint256,bytes)'),
      await topicOf('TransferWithReferenceAndFee(address,address,uint256,bytes,uint256,address)'),
      await topicOf('FlowUpdated(address,address,address,int96,int256,int256,bytes)'),
    ]);
  });

  test('have one that emits as many logs in a transaction as it is asked for', async () => {
    const { chain } = await start();
    const flooder = await chain.deploy('Flooder');
    await chain.send(chain.account(1), flooder.call('flood(address,uint256)', [chain.account(2), 1_000], 5_000_000));
    await chain.mine();
    expect(await readLogs(chain.rpc)).toHaveLength(1_000);
  });
});
