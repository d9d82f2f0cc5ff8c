import { useState } from 'preact/hooks';
import type { Chain } from '../../../client/chain/chains.ts';
import { hasReadableCoin, NATIVE_TOKEN } from '../../../domain/chain/coin.ts';
import { listedSymbol, listedTokens } from '../../../domain/chain/tokens.ts';
import { networkName } from '../../../domain/networks.ts';
import { type ApiProblem, inputError, paybell } from '../../api.ts';
import { ActionButton } from '../../components/action-button.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { Icon } from '../../components/icon.tsx';
import { SelectField, TextField, textIn } from '../../components/inputs.tsx';
import { invoicePath } from '../../paths.ts';
import { navigate } from '../../router.tsx';
import { useResponse } from '../../use-response.ts';

const OTHER_TOKEN = 'other';
const FIELDS = ['networkId', 'token', 'address', 'amount', 'dateExpires', 'reference'];
const EXPIRIES = [
  [3_600, 'In an hour'],
  [86_400, 'In a day'],
  [7 * 86_400, 'In a week'],
  [30 * 86_400, 'In 30 days'],
] as const;

/** Opens the form of an invoice. It needs a network that the server follows. */
export function CreateInvoice({ isPrimary = false }: { isPrimary?: boolean }) {
  const [isOpen, setIsOpen] = useState(false);
  const { data } = useResponse('chains', (signal) => paybell().chains.list({ signal }));
  const chains = data?.chains ?? [];
  const title =
    data !== null && chains.length === 0 ? 'The server follows no network: CHAIN_RPC names none' : undefined;
  return (
    <>
      <ActionButton
        needs="invoices:write"
        class={isPrimary ? 'button button-primary' : 'button'}
        disabled={chains.length === 0}
        {...(title !== undefined && { title })}
        onClick={() => setIsOpen(true)}
      >
        <Icon name="plus" size={14} />
        New invoice
      </ActionButton>
      {isOpen ? <CreateDialog chains={chains} onClose={() => setIsOpen(false)} /> : null}
    </>
  );
}

function tokensOf(networkId: number): (readonly [string, string])[] {
  const coin = listedSymbol(networkId, NATIVE_TOKEN) ?? 'The coin of the network';
  return [
    ...listedTokens(networkId).map(({ symbol, address }) => [address, symbol] as const),
    ...(hasReadableCoin(networkId) ? [[NATIVE_TOKEN, coin] as const] : []),
    [OTHER_TOKEN, 'Another token, by its address'],
  ];
}

function CreateDialog({ chains, onClose }: { chains: readonly Chain[]; onClose: () => void }) {
  const [networkId, setNetworkId] = useState(chains[0]?.networkId ?? 0);
  const [chosen, setChosen] = useState<string | null>(null);
  const tokens = tokensOf(networkId);
  const token = chosen ?? tokens[0]?.[0] ?? OTHER_TOKEN;

  const create = async (form: FormData) => {
    const reference = textIn(form, 'reference');
    const { invoiceId } = await paybell().invoices.create({
      networkId,
      token: token === OTHER_TOKEN ? textIn(form, 'token') : token,
      address: textIn(form, 'address'),
      amount: textIn(form, 'amount'),
      dateExpires: Math.floor(Date.now() / 1000) + Number(textIn(form, 'expires')),
      ...(reference !== '' && { reference }),
    });
    onClose();
    navigate(invoicePath(invoiceId));
  };

  return (
    <FormDialog
      title="New invoice"
      submit={{ label: 'Create invoice', busy: 'Creating…' }}
      onSubmit={create}
      onClose={onClose}
      fields={FIELDS}
    >
      {(problem) => (
        <>
          <SelectField
            label="Network"
            error={inputError(problem, 'networkId')}
            value={String(networkId)}
            options={chains.map((each) => [each.networkId, networkName(each.networkId)] as const)}
            onChoose={(id) => {
              setNetworkId(Number(id));
              setChosen(null);
            }}
          />
          <SelectField
            label="Token"
            error={token === OTHER_TOKEN ? null : inputError(problem, 'token')}
            value={token}
            options={tokens}
            onChoose={setChosen}
          />
          {token === OTHER_TOKEN ? (
            <TextField
              name="token"
              label="Token address"
              error={inputError(problem, 'token')}
              hint="The address of the contract. A symbol proves nothing."
              class="mono"
              required
              placeholder="0x…"
            />
          ) : null}
          <Terms problem={problem} />
        </>
      )}
    </FormDialog>
  );
}

/** Fields that do not depend on the network. */
function Terms({ problem }: { problem: ApiProblem | null }) {
  return (
    <>
      <TextField name="amount" label="Amount" error={inputError(problem, 'amount')} inputmode="decimal" required />
      <TextField
        name="address"
        label="Receiving address"
        error={inputError(problem, 'address')}
        hint="An address that has no other open invoice in this token."
        class="mono"
        required
        spellcheck={false}
      />
      <SelectField
        name="expires"
        label="Expires"
        error={inputError(problem, 'dateExpires')}
        value="86400"
        options={EXPIRIES}
      />
      <TextField
        name="reference"
        label="Reference (optional)"
        error={inputError(problem, 'reference')}
        hint="Your own id. The same reference never makes a second invoice."
        maxLength={128}
      />
    </>
  );
}
