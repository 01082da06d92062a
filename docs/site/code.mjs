// Code in sentences. A browser may break a line after each hyphen, which would split flags such as --max-fee-gwei.

/** Longer words may break, so that they fit on a phone. */
const LONGEST = 30

/** A markdown-it plugin that keeps each short word of inline code on one line. */
export function codePlugin(md) {
  const { code_inline: render } = md.renderer.rules
  md.renderer.rules.code_inline = (...args) =>
    render(...args).replace(/(?<=>)[^<]+(?=<)/, (text) =>
      text.replaceAll(/\S*-\S*/g, (word) => (word.length > LONGEST ? word : `<span class="word">${word}</span>`)),
    )
}
