import type { Command } from 'commander';
import type { NewSource } from '../../../client/chain/sources.ts';
import { parseObject, readTextFile } from '../../formats/json-file.ts';
import { collect } from '../../options/values.ts';
import { UsageError } from '../../terminal/command-error.ts';

/** The definition of a source as options, or as a file of JSON. The server checks it and names each error. */

export type DefinitionOptions = {
  network?: string;
  preset?: string;
  contract?: string;
  abi?: string;
  event?: string;
  where?: string[];
  field?: string[];
  amount?: string[];
  constant?: string[];
  file?: string;
};

export type ChangeOptions = Pick<DefinitionOptions, 'where' | 'field' | 'amount' | 'constant' | 'file'>;

export function addDefinitionOptions(command: Command): Command {
  return addChangeOptions(
    command
      .option('--network <id>', 'network of the contract')
      .option(
        '--preset <name>',
        'a known contract: erc20, trc20, request-network, loop or superfluid; spl for a token of Solana; native for the coin of the network',
      )
      .option('--contract <address>', 'address of the contract; none with the preset native')
      .option('--abi <event>', 'without a preset: the event as Solidity declares it')
      .option('--event <kind>', 'without a preset: Transfer or an event kind'),
  );
}

/** The part of a definition that can change. */
export function addChangeOptions(command: Command): Command {
  return command
    .option('--where <name=values>', 'a parameter and the values it may have, separated by commas; repeatable', collect)
    .option('--field <name=parameter>', 'a payload field and the parameter it is taken from; repeatable', collect)
    .option('--amount <name=parameter@token>', 'a payload field that is an amount of a token; repeatable', collect)
    .option('--constant <name=value>', 'a payload field that is always the same; repeatable', collect)
    .option('--file <file>', 'the whole definition as JSON, instead of these options; - is standard input');
}

const NAMES = ['network', 'preset', 'contract', 'abi', 'event', 'where', 'field', 'amount', 'constant'] as const;

/** The definition in the form of the request. The server reports missing parts. */
export async function readDefinition(options: DefinitionOptions): Promise<Partial<NewSource>> {
  const { file, network, preset, contract, abi, event } = options;
  if (file !== undefined) {
    const given = NAMES.find((name) => options[name] !== undefined);
    if (given !== undefined) throw new UsageError(`give --file or --${given}, not both`);
    return parseObject(await readTextFile(file), file, ', such as {"networkId": 8453, "preset": "erc20", …}');
  }
  if (network !== undefined && !/^[0-9]{1,16}$/.test(network))
    throw new UsageError('--network must be a network id such as 8453');
  const where = pairs(options.where, '--where').map(([name, text]) => [name, text.split(',').map(parseValue)]);
  const fields = [
    ...pairs(options.field, '--field'),
    ...pairs(options.amount, '--amount').map(([name, text]) => [name, amountOf(text)]),
    ...pairs(options.constant, '--constant').map(([name, text]) => [name, { is: parseValue(text) }]),
  ];
  return {
    ...(network !== undefined && { networkId: Number(network) }),
    ...(preset !== undefined && { preset: preset as NonNullable<NewSource['preset']> }),
    ...(contract !== undefined && { contract }),
    ...(abi !== undefined && { abi }),
    ...(event !== undefined && { event }),
    ...(where.length > 0 && { where: Object.fromEntries(where) as NonNullable<NewSource['where']> }),
    ...(fields.length > 0 && { fields: Object.fromEntries(fields) as NonNullable<NewSource['fields']> }),
  };
}

function pairs(texts: readonly string[] | undefined, option: string): [string, string][] {
  return (texts ?? []).map((text) => {
    const equals = text.indexOf('=');
    if (equals < 1) throw new UsageError(`${option} must be a name, = and a value: ${text}`);
    return [text.slice(0, equals).trim(), text.slice(equals + 1).trim()];
  });
}

/** Any other value stays text, so that integers of any size are sent as their digits. */
function parseValue(text: string): string | boolean {
  return text === 'true' ? true : text === 'false' ? false : text;
}

function amountOf(text: string): { from: string; token: string } {
  const [from = '', token = ''] = text.split('@');
  if (from === '' || token === '') throw new UsageError(`--amount must be a parameter, @ and its token: ${text}`);
  return { from, token };
}
