import { useState } from 'preact/hooks';
import type { Chain } from '../../../client/chain/chains.ts';
import { rulesOf } from '../../../domain/chain/families/families.ts';
import { isPractice, PRACTICE_ADDRESS } from '../../../domain/chain/practice.ts';
import { listedTokens } from '../../../domain/chain/tokens.ts';
import { networkName } from '../../../domain/networks.ts';
import { type ApiProblem, inputError, paybell } from '../../api.ts';
import { Field } from '../../components/field.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { SelectField, TextField } from '../../components/inputs.tsx';
import { showToast } from '../../components/toasts.tsx';
import { Badge } from '../../components/values/badge.tsx';
import { ApiRequests } from '../../components/view/api-requests.tsx';
import { CHAIN_STATES } from '../overview/network-words.ts';
import { RecentPayments } from './recent-payments.tsx';

const OTHER_TOKEN = 'other';
const FIELDS = ['networkId', 'contract', 'where'];

type AddProps = { chains: readonly Chain[]; onAdded: () => void; onClose: () => void };

/**
 * Adds a source of token transfers in three steps: the network with its nodes, the token, and the receiving addresses. The last
 * step shows the payments that the source would have reported.
 */
export function AddSourceDialog({ chains, onAdded, onClose }: AddProps) {
  const [networkId, setNetworkId] = useState(chains[0]?.networkId ?? 0);
  const [chosen, setChosen] = useState<string | null>(null);
  const [typed, setTyped] = useState('');
  const [text, setText] = useState(isPractice(networkId) ? PRACTICE_ADDRESS : '');
  const tokens = listedTokens(networkId);
  const token = chosen ?? tokens[0]?.address ?? OTHER_TOKEN;
  const contract = token === OTHER_TOKEN ? typed.trim() : token;
  const addresses = text.split(/[\s,]+/).filter((address) => address !== '');
  const [preset = 'erc20'] = rulesOf(networkId).presets;
  const source = { networkId, preset, contract, where: { to: addresses } };

  const add = async () => {
    await paybell().sources.create(source);
    showToast({ tone: 'good', text: `Paybell reads payments on ${networkName(networkId)} from the next block on.` });
    onAdded();
    onClose();
  };

  return (
    <FormDialog
      title="Add addresses"
      wide
      submit={{ label: 'Add addresses', busy: 'Adding…', isDisabled: contract === '' || addresses.length === 0 }}
      onSubmit={add}
      onClose={onClose}
      fields={FIELDS}
    >
      {(problem) => (
        <>
          <NetworkStep
            {...{ chains, networkId, problem }}
            onChange={(next) => {
              setNetworkId(next);
              setChosen(null);
            }}
          />
          <TokenStep {...{ tokens, token, typed, setTyped, problem }} onChange={setChosen} />
          <Field
            label="3. Receiving addresses"
            error={inputError(problem, 'where')}
            hint={
              isPractice(networkId)
                ? 'One address in each line: yours, or the one that is filled in. Each gets a practice payment every 20 seconds.'
                : 'One address in each line. Paybell reports transfers of the token to any of them.'
            }
          >
            {(control) => (
              <textarea
                {...control}
                class="mono"
                rows={4}
                required
                spellcheck={false}
                placeholder="0x…"
                value={text}
                onInput={(event) => setText(event.currentTarget.value)}
              />
            )}
          </Field>
          <RecentPayments {...{ networkId, contract, addresses }} />
          <ApiRequests commands={[{ method: 'POST', path: '/sources', body: source }]} />
        </>
      )}
    </FormDialog>
  );
}

type NetworkStepProps = {
  chains: readonly Chain[];
  networkId: number;
  problem: ApiProblem | null;
  onChange: (networkId: number) => void;
};

/** The state of the network is the check of its nodes. */
function NetworkStep({ chains, networkId, problem, onChange }: NetworkStepProps) {
  const chain = chains.find((each) => each.networkId === networkId);
  return (
    <>
      <SelectField
        label="1. Network"
        error={inputError(problem, 'networkId')}
        value={String(networkId)}
        options={chains.map((each) => [each.networkId, `${networkName(each.networkId)} (${each.networkId})`] as const)}
        onChoose={(chosen) => onChange(Number(chosen))}
      />
      {chain === undefined ? null : (
        <p class="small" role="status">
          <Badge {...CHAIN_STATES[chain.state]} /> {nodesText(chain)} {chain.reason}
        </p>
      )}
    </>
  );
}

function nodesText({ nodes }: Chain): string {
  if (nodes.length === 0) return 'No poll has ended yet.';
  const healthy = nodes.filter(({ state }) => state === 'ok').length;
  return `${healthy} of ${nodes.length} ${nodes.length === 1 ? 'node' : 'nodes'} healthy.`;
}

type TokenStepProps = {
  tokens: readonly { symbol: string; address: string }[];
  token: string;
  typed: string;
  setTyped: (text: string) => void;
  problem: ApiProblem | null;
  onChange: (token: string) => void;
};

function TokenStep({ tokens, token, typed, setTyped, problem, onChange }: TokenStepProps) {
  const error = inputError(problem, 'contract');
  return (
    <>
      <SelectField
        label="2. Token"
        error={token === OTHER_TOKEN ? null : error}
        value={token}
        options={[
          ...tokens.map(({ symbol, address }) => [address, symbol] as const),
          [OTHER_TOKEN, 'Another token, by its address'],
        ]}
        onChoose={onChange}
      />
      {token === OTHER_TOKEN ? (
        <TextField
          label="Token address"
          error={error}
          hint="The address of the contract. A symbol proves nothing."
          class="mono"
          required
          spellcheck={false}
          placeholder="0x…"
          value={typed}
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
      ) : null}
    </>
  );
}
