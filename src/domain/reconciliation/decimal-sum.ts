/** An exact sum of plain decimals. */
export class DecimalSum {
  #units = 0n;
  #decimals = 0;

  add(text: string): void {
    const [whole = '', fraction = ''] = text.split('.');
    if (fraction.length > this.#decimals) {
      this.#units *= 10n ** BigInt(fraction.length - this.#decimals);
      this.#decimals = fraction.length;
    }
    this.#units += BigInt(whole + fraction.padEnd(this.#decimals, '0'));
  }

  /** The sum as text, without zeros at the end. */
  toString(): string {
    const sign = this.#units < 0n ? '-' : '';
    const digits = (this.#units < 0n ? -this.#units : this.#units).toString().padStart(this.#decimals + 1, '0');
    const point = digits.length - this.#decimals;
    const fraction = digits.slice(point).replace(/0+$/, '');
    return sign + digits.slice(0, point) + (fraction === '' ? '' : `.${fraction}`);
  }
}
