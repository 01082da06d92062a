import { Component, type ComponentChild, type ComponentType, type FunctionComponent, h } from 'preact'

/** A component that is drawn again only when one of its properties has changed. */
export function memo<Props extends object>(draw: FunctionComponent<Props>): ComponentType<Props> {
  return class extends Component<Props> {
    override shouldComponentUpdate(next: Props): boolean {
      const names = new Set([...Object.keys(next), ...Object.keys(this.props)]) as Set<keyof Props>
      return [...names].some((name) => next[name] !== this.props[name])
    }

    override render(props: Props): ComponentChild {
      return h(draw, props)
    }
  }
}
