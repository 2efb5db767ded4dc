/* What a part of the page shows when it broke, so that the rest goes on. */
import { Component, type ReactNode } from "react";
import { Note } from "@/components/Note";

interface Props {
  children: ReactNode;
  /** Another value is another chance. */
  resetKey?: string;
}

export class Boundary extends Component<Props, { error: Error | null; key: string | undefined }> {
  override state = { error: null as Error | null, key: this.props.resetKey };

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  static getDerivedStateFromProps(props: Props, state: { error: Error | null; key: string | undefined }) {
    return props.resetKey === state.key ? null : { error: null, key: props.resetKey };
  }

  override render() {
    const { error } = this.state;
    if (!error) return this.props.children;
    const isOld = /dynamically imported module|module script/i.test(error.message);
    return (
      <div className="wrap">
        <Note tone="bad">
          <b>{isOld ? "This page is older than the server." : "This part of the page broke."}</b>{" "}
          {isOld ? "Nothing is lost." : `Nothing on the server is affected. ${error.message}`}{" "}
          <button className="link" onClick={() => location.reload()}>
            Reload the page
          </button>
        </Note>
      </div>
    );
  }
}
